// Python in a worker of its own, so that the page never waits for it and can end it at any moment.
// In: first a set-up {files, empty, packagesAt}, then tasks {given, code, check, packages}. Out: messages of the types loading,
// packages, running, output, done and failed.
import { loadPyodide } from "pyodide";
import runner from "./live/runner.py";

const CORE = new URL(`${PYTHON}/`, import.meta.url).href;

// Tells how much of Python has arrived, as it arrives.
let arrived = 0;
function count(bytes) {
  const before = Math.floor((arrived / PYTHON_BYTES) * 100);
  arrived += bytes;
  const now = Math.floor((arrived / PYTHON_BYTES) * 100);
  if (now > before) postMessage({ type: "loading", done: now / 100 });
}
const fetchAny = self.fetch;
self.fetch = async (address, options) => {
  const answer = await fetchAny(address, options);
  if (!answer.ok || !answer.url.startsWith(CORE)) return answer;
  const counted = new TransformStream({ transform: (chunk, out) => (count(chunk.length), out.enqueue(chunk)) });
  return new Response(answer.body.pipeThrough(counted), { headers: answer.headers });
};

// The memory of a Python that has started (see snapshot.mjs).
async function fetchSnapshot() {
  const answer = await fetch(`${CORE}snapshot.bin`);
  if (!answer.ok) throw new Error(`${answer.url} answers ${answer.status}`);
  return new Response(answer.body.pipeThrough(new DecompressionStream("gzip"))).arrayBuffer();
}

async function loadPython(packageBaseUrl) {
  const snapshot = fetchSnapshot();
  const { default: createPyodideModule } = await import(`${CORE}pyodide.asm.js`);
  return loadPyodide({ createPyodideModule, indexURL: CORE, packageBaseUrl, enableRunUntilComplete: false, _loadSnapshot: snapshot });
}

// The files of the exercise, as {path: text}. Fetched anew each time, because they change with the book.
async function fetchFiles(files) {
  const texts = await Promise.all(
    Object.values(files).map(async (address) => {
      const answer = await fetch(address, { cache: "no-cache" });
      if (!answer.ok) throw new Error(`${address} answers ${answer.status}`);
      return answer.text();
    }),
  );
  return Object.fromEntries(Object.keys(files).map((path, i) => [path, texts[i]]));
}

let ready;
async function start({ files: addresses, empty = [], packagesAt }) {
  const [python, files] = await Promise.all([loadPython(packagesAt), fetchFiles(addresses)]);
  for (const path of empty) files[path] = "";
  const folder = "/home/pyodide/";
  for (const [path, text] of Object.entries({ "runner.py": runner, ...files })) {
    python.FS.mkdirTree((folder + path).replace(/\/[^/]*$/, ""));
    python.FS.writeFile(folder + path, text);
  }
  return { python, perform: python.pyimport("runner").perform };
}

// The packages that the exercise needs, and those that this code imports. The lock file lists NumPy, SciPy and no others.
async function loadPackages(python, task) {
  const find = python.pyimport("pyodide.code").find_imports;
  let imported = [];
  try {
    imported = find(task.code).toJs();
  } catch {
    // A syntax error, which running the code will tell.
  }
  const wanted = [...task.packages, ...imported].filter((name) => name in python.lockfile.packages && !(name in python.loadedPackages));
  if (!wanted.length) return;
  postMessage({ type: "packages", names: wanted });
  await python.loadPackage(wanted, { messageCallback: () => {}, errorCallback: () => {} });
  if (wanted.some((name) => !(name in python.loadedPackages))) throw new Error(`no ${wanted.join(", ")} to be had`);
}

onmessage = async ({ data }) => {
  if (!ready) {
    ready = start(data);
    ready.catch(() => {}); // the first task tells
    return;
  }
  let step = "start";
  try {
    const { python, perform } = await ready;
    step = "packages";
    await loadPackages(python, data);
    step = "run";
    postMessage({ type: "running" });
    const { given, code, check } = data;
    const result = perform(JSON.stringify({ given, code, check }), (text) => postMessage({ type: "output", text }));
    postMessage({ type: "done", result: JSON.parse(result) });
  } catch (error) {
    postMessage({ type: "failed", step, reason: String(error?.message ?? error) });
  }
};
