"""GPU kernels of a lowering: whether assemblers and validators take them with nothing left to link."""

from __future__ import annotations

import irwidget
from tests.llvm import validity

TARGETS = ("nvptx", "amdgpu", "spirv")


def verdict(lowering: irwidget.Lowering, target: str) -> str:
    """`valid`, or `invalid: ...` with what is wrong; they are assembled, not executed."""
    if package := validity.missing(target):
        raise SystemExit(f"Kernels for {target} cannot be validated here: install {package}")
    made = {dump.scope.kernel: dump.text for dump in lowering.dumps if dump.name == "codegen"}
    if not made:
        return "invalid: no kernel was made"
    for kernel, text in made.items():
        if calls := validity.unresolved(target, text):
            return f"invalid: {kernel} calls {', '.join(sorted(calls))}"
        if said := validity.faults(target, text):
            return f"invalid: {kernel}: {said.strip().splitlines()[0]}"
    return "valid"
