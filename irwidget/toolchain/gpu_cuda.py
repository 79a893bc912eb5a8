"""NVIDIA's own tools, from the triton wheel: ptxas and nvdisasm. No GPU and no CUDA toolkit is needed."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from irwidget.toolchain import debug_lines, events, feeding, gpu_libraries, llvm_state, mlir, scratch
from irwidget.toolchain.gpu_kernels import Kernels, on_each, show_all
from irwidget.toolchain.tool import Pass, Run, State, StepFailed, TextState, refuse
from irwidget.trace import Content, Step


def program(name: str) -> Path:
    """`ptxas` or `nvdisasm`. Raises StepFailed when Triton is not installed."""
    wheel = gpu_libraries.folder("nvidia")
    found = wheel / "bin" / name if wheel else None
    if not found or not found.exists():
        raise StepFailed(
            events.Failed(
                "tool",
                f"{name} comes with Triton, which is not installed here: pip install irwidget[triton]",
                tool=name,
            )
        )
    return found


def ptxas(run: Run, state: State, step: Step) -> Iterator[Pass]:
    """PTX to machine code, shown as nvdisasm reads it; the cubins go to the attachments."""
    if not isinstance(state, Kernels | TextState) or state.language != "ptx":
        raise refuse(step, f"ptxas reads PTX, but it was given {state.language}")
    kernels = state.texts if isinstance(state, Kernels) else {"": state}
    pool = ThreadPoolExecutor(os.cpu_count())  # nvdisasm takes a third of a second to start
    begun = {text: pool.submit(_assemble, step, text) for text in dict.fromkeys(text.text for text in kernels.values())}

    def work(kernel: str, before: TextState) -> TextState:
        said, listing, cubin = begun[before.text].result()
        run.attachments[f"{kernel or 'kernel'}.cubin"] = cubin
        if used := re.search(r"Used (\d+) registers", said):
            run.facts[f"registers {kernel}".strip()] = int(used[1])
        text, places = debug_lines.sass(listing)
        return TextState("sass", text, Content(text, True, llvm_state.places(before, places)))

    try:
        yield from on_each(state, "ptxas", work, step.arguments, f"ptxas {step.arguments}")
        yield from show_all(state)
    finally:
        pool.shutdown(cancel_futures=True)


def _assemble(step: Step, ptx: str) -> tuple[str, str, bytes]:
    """What ptxas said, the listing of the machine code, and the cubin. Raises PassFailed."""
    assembler = "ptxas-blackwell" if re.search(r"sm_1[0-9]{2}", step.arguments) else "ptxas"
    with scratch.folder() as folder:
        source, cubin = Path(folder, "kernel.ptx"), Path(folder, "kernel.cubin")
        source.write_text(ptx, encoding="utf-8")
        said = _call([program(assembler), "-v", *shlex.split(step.arguments), source, "-o", cubin])
        return said, _call([program("nvdisasm"), "-gi", "-c", cubin]), cubin.read_bytes()


def _call(command: list[str | Path]) -> str:
    """Run a program; what it printed. Raises PassFailed with its words when it fails."""
    done = feeding.run([os.fspath(word) for word in command], b"", None)
    said, remarks = done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")
    if done.returncode:
        told = (remarks or said).strip()
        raise mlir.PassFailed(told[:2000] or f"{Path(command[0]).name} ended with {done.returncode}", ())
    return said + remarks
