"""Everything that compiling a program writes, whole: kept in `artifacts.json.xz` and compared by `test_artifacts.py`.

`python -m tests.spyre.artifacts` compares, shows what differs, and with `--write` keeps the new state.
"""

from __future__ import annotations

import difflib
import json
import linecache
import lzma
import sys
from functools import cache
from itertools import islice
from pathlib import Path

from irwidget.spyre import SpyreProgram
from irwidget.spyre.bundlemlir import bundle_mlir
from irwidget.spyre.targets import lower
from tests.spyre.programs import PROGRAMS

FILE = Path(__file__).parent / "artifacts.json.xz"
Artifacts = dict[str, str]
"""By name: the text after every pass, the bundles, the explanation, and the user's line of every line."""


def artifacts(program: SpyreProgram) -> Artifacts:
    """All texts of a program. What is not decided by Spyre's passes (the FX graph) is left out."""
    trace = program.trace
    found = {dump.name: dump.text for dump in trace.dumps if dump.language != "fx"}
    found["kernelspec"] = lower(program, None, "spyre_kernelspec").dumps[-1].text
    for kernel in program.kernels:
        found[f"bundle.mlir of {kernel.name}"] = bundle_mlir(kernel)
    found["explain"] = program.explain()
    found["facts"] = json.dumps(program.to_dict(), indent=1)
    found["diagnostics"] = "\n".join(f"{d.severity}: {d.message}" for d in trace.diagnostics)
    opspec = next(dump for dump in trace.dumps if dump.name == "opspec")
    found["lines"] = "\n".join(
        linecache.getline(place.file, place.line).strip() if place is not None else "-" for place in opspec.locations
    )
    return found


@cache
def kept() -> dict[str, Artifacts]:
    return json.loads(lzma.decompress(FILE.read_bytes()))


def difference(name: str, before: Artifacts, after: Artifacts) -> str:
    """The first artifact that differs, as a diff; empty when there is none."""
    for key in dict.fromkeys((*before, *after)):
        old, new = before.get(key, ""), after.get(key, "")
        if old != new or (key in before) != (key in after):
            lines = difflib.unified_diff(old.split("\n"), new.split("\n"), f"{name}: {key}", "now", lineterm="")
            return "\n".join(islice(lines, 60))
    return ""


def main(arguments: list[str]) -> int:
    made = {name: artifacts(program.compile()) for name, program in PROGRAMS.items()}
    before = kept() if FILE.exists() else {}
    changed = [name for name in dict.fromkeys((*before, *made)) if before.get(name) != made.get(name)]
    for name in changed:
        print(difference(name, before.get(name, {}), made.get(name, {})))
    if "--write" in arguments:
        FILE.write_bytes(lzma.compress(json.dumps(made).encode(), preset=9))
    print(f"{len(changed)} of {len(made)} programs differ")
    return 0 if "--write" in arguments else bool(changed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
