// A reader with Firefox: `node firefox.mjs FIREFOX ADDRESS` says as JSON what came of it. It reads `answers`, by exercise,
// and `check`, the function that presses Check in the page and takes the time.

import { text } from "node:stream/consumers";
import puppeteer from "puppeteer-core";

const [firefox, address] = process.argv.slice(2);
const { answers, check } = JSON.parse(await text(process.stdin));
const browser = await puppeteer.launch({ browser: "firefox", executablePath: firefox, headless: true });
const page = await browser.newPage();
const faults = [];
page.on("pageerror", (error) => faults.push(error.message));

const open = async (name) => {
  await page.goto(`${address}book/exercises/${name}.html`, { waitUntil: "load" });
  await page.$eval(".live", (live) => live.scrollIntoView());
  await page.waitForSelector(".cm-content");
};
const write = async (code) => {
  await page.click(".cm-content");
  await page.keyboard.down("Control");
  await page.keyboard.press("a");
  await page.keyboard.up("Control");
  await page.evaluate((text) => document.execCommand("insertText", false, text), code);
};
const press = (name) => page.click(`::-p-xpath(//*[@class="live"]//button[text()="${name}"])`);
const said = async () => {
  await page.waitForFunction(() => document.querySelector(".live-status").dataset.state !== "busy", { timeout: 60_000 });
  return page.$eval(".live-status", (status) => status.textContent);
};
const timed = () => page.evaluate(`(${check})()`);

const solved = {};
let first;
for (const [name, answer] of Object.entries(answers)) {
  await open(name);
  await write(answer);
  const time = await timed();
  first ??= time;
  solved[name] = await said();
}
const later = [];
for (let i = 0; i < 10; i++) later.push(await timed());

await write("while True:\n    pass\n");
await press("Run");
await new Promise((done) => setTimeout(done, 2000));
await press("Stop");
const stopped = await said();

await page.reload({ waitUntil: "load" });
await page.$eval(".live", (live) => live.scrollIntoView());
await page.waitForSelector(".cm-content");
const kept = await page.$eval(".cm-content", (editor) => editor.textContent);
const version = await browser.version();
await browser.close();
console.log(JSON.stringify({ version, solved, first, later, stopped, kept, faults }));
