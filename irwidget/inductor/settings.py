"""What PyTorch is told before a compilation is watched: caches, processes, compilers. Lives in a copy of the kernel."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Mapping
from typing import Any

from irwidget.inductor import private
from irwidget.toolchain import forked, scratch

_trials: dict[tuple[str, str], Mapping[tuple[str, str], bool]] = {}
"""Compilers and where they are looked for -> instruction set and code -> whether that is built."""


def put(folder: str, threads: int) -> None:
    """No caches but our own, one process, no pools of compilers; C++ for so many threads, where no number is set."""
    _cache_in(folder)
    inductor = private.config(private.INDUCTOR)
    inductor.compile_threads = 1
    inductor.cpp.vec_isa_ok = True
    if inductor.cpp.threads < 1:
        inductor.cpp.threads = threads
    private.config(private.DYNAMO).suppress_errors = False
    private.config(private.DYNAMO).run_gc_after_compile = False  # the copy ends soon
    _without_compiler()
    private.put("backward_now", True)
    private.put("is_of_modules", lambda translator: False)
    private.get("dynamo_reset")()
    joint, post = private.get("joint_lazy_init"), private.get("post_grad_lazy_init")
    warm(joint, post)
    private.put("joint_lazy_init", lambda *_: None)
    private.put("post_grad_lazy_init", lambda *_: None)


def _cache_in(folder: str) -> None:
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = folder
    os.environ["TRITON_CACHE_DIR"] = folder
    private.config(private.INDUCTOR).force_disable_caches = True


def try_compiler() -> None:
    """Have the C++ compiler tried for all instructions of the processor: once for a process, as that takes seconds."""
    if _compiler() not in _trials:
        _trials[_compiler()] = forked.call(_tried, cuda=False)


def _compiler() -> tuple[str, str]:
    return str(private.config(private.INDUCTOR).cpp.cxx), os.environ.get("PATH", "")


def _tried() -> dict[tuple[str, str], bool]:
    """What comes of each trial. In a copy of the process."""
    found: dict[tuple[str, str], bool] = {}

    def noted(original: Callable[[Any, str], bool]) -> Callable[[Any, str], bool]:
        def builds(instructions: Any, code: str) -> bool:
            found[str(instructions), code] = made = original(instructions, code)
            return made

        return builds

    private.wrap("isa_builds", noted)
    private.config(private.INDUCTOR).cpp.vec_isa_ok = True
    with scratch.folder() as folder:
        _cache_in(folder)
        private.get("instruction_sets")()
    return found


def _without_compiler() -> None:
    """Where there is no C++ compiler, have Inductor write its code all the same: here code is text first of all.

    What the processor says of its instructions is taken without a compiler's trial.
    """
    missing = [False]

    def named(original: Callable[[], str]) -> Callable[[], str]:
        def compiler() -> str:
            try:
                return original()
            except private.get("no_compiler"):
                missing[0] = True
                wanted = private.config(private.INDUCTOR).cpp.cxx
                return [name for name in wanted if name][-1] if isinstance(wanted, list | tuple) else str(wanted)

        return compiler

    def tried(original: Callable[[Any, str], bool]) -> Callable[[Any, str], bool]:
        def builds(instructions: Any, code: str) -> bool:
            private.get("cpp_compiler")()
            if missing[0]:
                return True
            known = _trials.get(_compiler(), {}).get((str(instructions), code))
            return original(instructions, code) if known is None else known

        return builds

    private.wrap("cpp_compiler", named)
    private.wrap("isa_builds", tried)


def hash_triton() -> None:
    """Have Triton make the hash of its own files, hundreds of megabytes, which each kernel for a GPU has in its key."""
    with contextlib.suppress(Exception):  # what needs it says it better
        private.get("triton_key")()


def warm(joint: Any = None, post: Any = None) -> None:
    """Have Inductor trace its patterns, which every compilation of a process shares."""
    import torch

    (joint or private.get("joint_lazy_init"))(torch.device("cpu"))
    (post or private.get("post_grad_lazy_init"))()
