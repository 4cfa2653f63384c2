// Starts Python once and writes its memory to a file, gzipped: `node snapshot.mjs FILE`. The page's Python starts from it,
// in a fraction of the time that starting anew takes.
import { writeFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { loadPyodide } from "pyodide";

// What runner.py and checks.py import, so that it is there as well.
const IMPORTS = "ast, collections.abc, copy, dataclasses, html, io, json, linecache, math, pathlib, pyodide.code, sys, traceback";

const python = await loadPyodide({ _makeSnapshot: true, enableRunUntilComplete: false, _sysExecutable: "python" });
python.runPython(`import ${IMPORTS}`);
writeFileSync(process.argv[2], gzipSync(python.makeMemorySnapshot(), { level: 9 }));
