// Bundles what browsers load from src/ into a folder: `node bundle.mjs FOLDER VERSION PYTHON`.
// src/*.js are scripts of pages, which run from disk too; src/*.mjs are modules, for workers; src/*.css are style sheets.
// All scripts come out as .js, because there are servers that know no .mjs.
import { readdirSync, statSync } from "node:fs";
import { basename, join } from "node:path";
import * as esbuild from "esbuild";

const [folder, version, python] = process.argv.slice(2);
const bytes = readdirSync(python).reduce((sum, file) => sum + statSync(join(python, file)).size, 0);

const common = {
  outdir: folder,
  bundle: true,
  minify: true,
  target: "es2022",
  charset: "utf8",
  legalComments: "linked",
  logLevel: "warning",
  loader: { ".py": "text" },
  define: { VERSION: JSON.stringify(version), PYTHON: JSON.stringify(basename(python)), PYTHON_BYTES: String(bytes) },
};
const entries = (...suffixes) => readdirSync("src").filter((file) => suffixes.some((end) => file.endsWith(end))).map((file) => `src/${file}`);

await Promise.all([
  esbuild.build({ ...common, format: "iife", entryPoints: entries(".js", ".css") }),
  esbuild.build({ ...common, format: "esm", entryPoints: entries(".mjs"), external: ["node:*", "ws"] }),
]);
