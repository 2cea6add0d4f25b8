// Run pytest in CPython 3.14, compiled to WebAssembly: node run.mjs FOLDER [ARGUMENT...]
//
// FOLDER, a folder of the project, holds what is installed: node_modules/ with pyodide, packages/
// with the wheels. The arguments are pytest's; the exit status is pytest's too.

import { createRequire } from "node:module";
import { dirname, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const [folder, ...args] = process.argv.slice(2);
const root = resolve(dirname(fileURLToPath(import.meta.url)), "../..");
const { loadPyodide } = createRequire(resolve(root, folder, "package.json"))("pyodide");

const python = await loadPyodide();
python.mountNodeFS("/project", root);
python.globals.set("folder", folder);
python.globals.set("args", python.toPy(args));
try {
  process.exitCode = python.runPython(`
import os
import sys

os.chdir("/project")
sys.path[:0] = ["/project", f"/project/{folder}/packages"]
sys.dont_write_bytecode = False
sys.pycache_prefix = f"/project/{folder}/pycache"

import pytest

int(pytest.main(args))
`);
} catch (error) {
  // Uncaught, it would be shown with the source it comes from, one line of a megabyte.
  console.error(error.message);
  process.exitCode = 3;
}
