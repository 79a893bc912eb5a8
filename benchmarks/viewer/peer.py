"""A page with a minimal Monaco diff editor, built with the viewer's own esbuild."""

from __future__ import annotations

import subprocess
from pathlib import Path

HERE = Path(__file__).parent / "monaco"
JS = Path(__file__).parents[2] / "js"

_BUILD = """
import { build } from "esbuild";
const common = { bundle: true, minify: true, write: false, loader: { ".ttf": "empty" }, logLevel: "error" };
const [from, to] = process.argv.slice(1);
const entry = `${from}/node_modules/monaco-editor/esm/vs/editor/editor.worker.js`;
const worker = await build({ ...common, entryPoints: [entry], format: "iife" });
await build({
  ...common, write: true, outfile: `${to}/peer.js`, entryPoints: [`${from}/peer.js`], format: "iife",
  define: { WORKER: JSON.stringify(worker.outputFiles[0].text) },
});
"""


def build(folder: Path) -> Path:
    """Install Monaco when it is not there and build the page; needs npm."""
    if not (HERE / "node_modules").exists():
        subprocess.run(["npm", "--prefix", str(HERE), "ci", "--ignore-scripts", "--silent"], check=True)
    command = ["node", "--input-type=module", "-e", _BUILD, str(HERE), str(folder)]
    subprocess.run(command, check=True, cwd=JS)
    page = folder / "peer.html"
    page.write_text(
        '<!doctype html><meta charset="utf-8"><link rel="stylesheet" href="peer.css">'
        '<div id="peer" style="width: 1300px; height: 600px"></div><script src="peer.js"></script>'
    )
    return page
