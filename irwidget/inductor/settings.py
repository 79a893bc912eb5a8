"""What PyTorch is told before a compilation is watched: caches, processes, compilers. Lives in a copy of the kernel."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from irwidget.inductor import private


def put(folder: str) -> None:
    """No caches but our own, one process, no pools of compilers."""
    import os

    os.environ["TORCHINDUCTOR_CACHE_DIR"] = folder
    os.environ["TRITON_CACHE_DIR"] = folder
    inductor = private.config(private.INDUCTOR)
    inductor.force_disable_caches = True
    inductor.compile_threads = 1
    inductor.cpp.vec_isa_ok = True
    private.config(private.DYNAMO).suppress_errors = False
    _without_compiler()
    private.put("backward_now", True)
    private.put("is_of_modules", lambda translator: False)
    private.get("dynamo_reset")()
    joint, post = private.get("joint_lazy_init"), private.get("post_grad_lazy_init")
    warm(joint, post)
    private.put("joint_lazy_init", lambda *_: None)
    private.put("post_grad_lazy_init", lambda *_: None)


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

    def tried(original: Callable[..., Any]) -> Callable[..., Any]:
        def builds(*args: Any, **kwargs: Any) -> Any:
            private.get("cpp_compiler")()
            return True if missing[0] else original(*args, **kwargs)

        return builds

    private.wrap("cpp_compiler", named)
    private.wrap("isa_builds", tried)


def warm(joint: Any = None, post: Any = None) -> None:
    """Have Inductor trace its patterns, which every compilation of a process shares."""
    import torch

    (joint or private.get("joint_lazy_init"))(torch.device("cpu"))
    (post or private.get("post_grad_lazy_init"))()
