"""Triton's settings where a kernel is launched, carried to where it is compiled.

Users set them by `triton.knobs` or in the environment, both in the kernel's process and at any time; passes run in the
worker, which has its own. What changes the code that is made travels with a step as environment variables, by which
Triton's Python and its native code both can be told.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Generator, Iterator
from typing import Any

from irwidget.errors import UnsupportedError
from irwidget.toolchain import triton_private

Settings = tuple[tuple[str, str], ...]
"""Names of environment variables with their values, in order; all others of Triton's are not set."""

_QUIET = frozenset(
    {
        "AMDGCN_ENABLE_DUMP",
        "LLVM_IR_ENABLE_DUMP",
        "MLIR_DUMP_PATH",
        "MLIR_ENABLE_DUMP",
        "NVPTX_ENABLE_DUMP",
        "TRITON_ALWAYS_COMPILE",
        "TRITON_DUMP_MIR",
        "TRITON_DUMP_PTXAS_LOG",
        "TRITON_FRONT_END_DEBUGGING",
        "TRITON_INTERPRET",
        "TRITON_KERNEL_DUMP",
        "TRITON_KERNEL_OVERRIDE",
        "TRITON_STORE_BINARY_ONLY",
        "USE_IR_LOC",
    }
)
"""Settings that change what is printed or kept, and no code; and those that `current` refuses."""
_OPTIONS = frozenset({"TRITON_DEFAULT_FP_FUSION", "TRITON_OVERRIDE_ARCH"})
"""Settings that a launch's options hold already."""

_last: Settings = ()
"""Those applied last, which Triton's back ends may have kept something of."""


def current(*, options: bool = False) -> Settings:
    """The settings that are in force here and change the code that is made; with `options` those too that end up in
    a launch's options.

    Raises UnsupportedError for those by which Triton takes code from elsewhere.
    """
    knobs = triton_private.knobs()
    if getattr(knobs.runtime, "add_stages_inspection_hook", None) is not None:  # since 3.6
        raise UnsupportedError(
            "triton.knobs.runtime.add_stages_inspection_hook is set: the stages that it puts in place of Triton's run "
            "in this process only and cannot be shown pass by pass. Set it to None"
        )
    for name, set_here in (
        ("TRITON_KERNEL_OVERRIDE", knobs.compilation.override),
        ("USE_IR_LOC", knobs.compilation.use_ir_loc),
    ):
        if set_here:
            raise UnsupportedError(
                f"{name} is set: Triton would take IR or its lines from files, which irwidget does not follow. Unset it"
            )
    found = {key: value for key, value in triton_private.code_variables().items() if key not in _QUIET}
    for key, value, default in _knobs():
        found.pop(key, None)
        if value is not None and value != default:
            found[key] = value
    return tuple(sorted((key, value) for key, value in found.items() if options or key not in _OPTIONS))


def _knobs() -> Iterator[tuple[str, str | None, str | None]]:
    """Variable, value and default of each knob that code may depend on."""
    for group in triton_private.knob_groups():
        for name, knob in group.knob_descriptors.items():
            if knob.key not in _QUIET:
                default = getattr(knob, "default", getattr(knob, "default_path", None))
                # a function before 3.5
                yield knob.key, _text(getattr(group, name)), _text(default() if callable(default) else default)


def _text(value: Any) -> str | None:
    """A knob's value as its environment variable says it; None for none."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "1" if value else "0"
    return str(getattr(value, "path", value))


@contextlib.contextmanager
def applied(settings: Settings) -> Generator[None]:
    """These settings and no others, for as long as a compilation runs."""
    global _last
    groups = triton_private.knob_groups()
    kept = [dict(vars(group)) for group in groups]
    ours = {knob.key for group in groups for knob in group.knob_descriptors.values()} - _QUIET
    ours |= {key for key in triton_private.code_variables() if key not in _QUIET} | {key for key, _ in settings}
    environment = {key: os.environ.get(key) for key in ours}
    try:
        for group in groups:
            for name, knob in group.knob_descriptors.items():
                if knob.key not in _QUIET:
                    vars(group).pop(name, None)
        _set({**dict.fromkeys(ours), **dict(settings)})
        if settings != _last:
            triton_private.forget_settings()
            _last = settings
        yield
    finally:
        _set(environment)
        for group, values in zip(groups, kept, strict=True):
            vars(group).clear()
            vars(group).update(values)


def _set(environment: dict[str, str | None]) -> None:
    for key, value in environment.items():
        if value is None:
            os.environ.pop(key, None)
        else:
            os.environ[key] = value
