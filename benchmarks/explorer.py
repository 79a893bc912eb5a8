"""PyTorch Explorer's own tests, unmodified, with irwidget in the place of its server: in a cell, and as a command.

python -m benchmarks.explorer PATH_OF_A_CHECKOUT [--as cell|command] [PYTEST_OPTION ...]

Its tests send a program and chips of a pipeline to a server, and look into the text that comes back. Here a request
becomes a `%%lower` cell, or `python -m irwidget lower FILE`, and the answer is put together of the dumps, with the
headings of that server. Tests of a file that have the same name, of which pytest runs the last, are all run, and those
that ask for a GPU are run without one. Pictures of control flow need Graphviz's `dot`, as they do there.
"""

from __future__ import annotations

import argparse
import ast
import base64
import collections
import os
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import httpx
import pytest

from irwidget.saved import load_all
from irwidget.trace import Trace

ROOT = Path(__file__).resolve().parents[1]
CHIPS = {
    "torch_mlir_opt": "torch-mlir-opt",
    "mlir_opt": "mlir-opt",
    "mlir_translate": "mlir-translate",
    "llvm_opt": "opt",
    "llc": "llc",
    "triton_opt": "triton-opt",
    "triton_llvm_opt": "triton-llvm-opt",
    "user_tool": "user-tool",
}
"""The fields of a request, in the order in which that server runs them, and our tools."""


def stages(request: Mapping[str, Any]) -> list[str]:
    """The steps that the chips of a request stand for."""
    asked = [(tool, request.get(field) or "") for field, tool in CHIPS.items()]
    return [f"{tool} {part.strip()}" for tool, flags in asked if flags for part in flags.split("&&")]


def words(request: Mapping[str, Any]) -> list[str]:
    """The options that a request stands for."""
    found = ["--to", str(request["ir_type"])]
    if not found[1].startswith("triton"):
        found += ["--route", "explorer"]
    if found[1] == "raw_ir" and request.get("selected_language", "pytorch") != "raw_ir":
        found += ["--from", "python"]
    if chips := stages(request):
        found += ["--pipeline", " | ".join(chips)]
    return found


def in_a_cell(code: str, options: Sequence[str], saved: Path) -> None:
    """Run a `%%lower` cell. Raises what the cell raises."""
    from IPython.core.interactiveshell import InteractiveShell

    shell = InteractiveShell.instance()
    if "lower" not in shell.magics_manager.magics["cell"]:
        shell.run_line_magic("load_ext", "irwidget")
    quoted = " ".join(f"'{word}'" if " " in word or "|" in word else word for word in [*options, "--save", str(saved)])
    shell.run_cell_magic("lower", quoted, code)


def as_a_command(code: str, options: Sequence[str], saved: Path) -> None:
    """Run `python -m irwidget lower`. Raises RuntimeError with what it says when it fails."""
    python = "--from" in options or options[1] != "raw_ir"
    path = saved.with_name("program.py" if python else "program.ll")
    path.write_text(code)
    command = [sys.executable, "-m", "irwidget", "lower", str(path), *options, "--save", str(saved)]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(ROOT)})
    if done.returncode:
        raise RuntimeError(done.stderr)


def answer(request: Mapping[str, Any], traces: Sequence[Trace]) -> str:
    """What that server would send back of these lowerings."""
    return "".join(_of_one(request, trace) for trace in traces)


def _of_one(request: Mapping[str, Any], trace: Trace) -> str:
    chips = stages(request)
    first = len(trace.steps) - len(chips)

    def after(step: int) -> str:
        return [dump.text for dump in trace.dumps if dump.step <= step][-1]

    if request.get("dump_after_each_opt"):
        parts = [f"\n\n===== Initial IR =====\n{after(first - 1)}"]
        parts += [f"\n\n===== IR after {chip} =====\n{after(first + i)}" for i, chip in enumerate(chips)]
    else:
        parts = [trace.dumps[-1].text]
    for name, data in trace.attachments.items():
        if name.endswith(".dot"):
            picture = subprocess.run(["dot", "-Tpdf"], input=data, capture_output=True, check=True).stdout
            parts.append(f"\n\n===== DOT PDF {Path(name).stem}.pdf =====\n{base64.b64encode(picture).decode()}")
    return "".join(parts)


def _named(request: Mapping[str, Any]) -> str:
    """The program; where its text shows the name of its module, in a module of the name that it has there."""
    code: str = request["code"]
    return f'__name__ = "builtins"\n{code}' if request["ir_type"] == "torch_script_graph_ir" else code


class Plugin:
    """Answers the requests of the tests, and has all of them run."""

    def __init__(self, run: Any) -> None:
        self.run = run

    def post(self, url: str, *, json: Mapping[str, Any], **_: Any) -> httpx.Response:
        """In the place of `httpx.post`."""
        with tempfile.TemporaryDirectory() as folder:
            saved = Path(folder) / "made.irtrace"
            try:
                self.run(_named(json), words(json), saved)
                body = {"status": "ok", "output": answer(json, [low.trace for low in load_all(saved)])}
            except Exception as error:
                kind = "Unhandled exception while processing request: Failed to generate LLVM MLIR"
                detail = f"{traceback.format_exc()}\nCompilerPipelineError: {error}"
                body = {"status": "error", "message": f"{kind}: {error}", "detail": detail, "output": ""}
        return httpx.Response(200, json=body)

    @pytest.hookimpl(tryfirst=True)
    def pytest_collectstart(self, collector: pytest.Collector) -> None:
        """Give the tests that another of their name hides names of their own."""
        if not isinstance(collector, pytest.Module):
            return
        module: Any = collector.obj
        collector.own_markers[:] = [mark for mark in collector.own_markers if mark.name != "skipif"]
        module.httpx.post = self.post
        tests = [one for one in ast.parse(collector.path.read_text()).body if isinstance(one, ast.FunctionDef)]
        seen = collections.Counter[str]()
        total = collections.Counter(one.name for one in tests)
        for one in tests:
            seen[one.name] += 1
            if one.name.startswith("test_") and seen[one.name] < total[one.name]:
                one.name = f"{one.name}_{seen[one.name]}"
                exec(compile(ast.Module([one], []), str(collector.path), "exec"), vars(module))


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="benchmarks.explorer", description=__doc__)
    parser.add_argument("checkout", type=Path)
    parser.add_argument("--as", dest="way", choices=("cell", "command"), default="cell")
    parsed, rest = parser.parse_known_args(arguments)
    tests = parsed.checkout / "tests"
    if not tests.is_dir():
        raise SystemExit(f"{parsed.checkout} has no tests: it is no checkout of PyTorch Explorer")
    os.chdir(parsed.checkout)
    plugin = Plugin(in_a_cell if parsed.way == "cell" else as_a_command)
    return int(pytest.main(["-q", "-p", "no:cacheprovider", "--rootdir", str(tests), str(tests), *rest], [plugin]))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
