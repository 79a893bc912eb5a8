"""Our Spyre front end beside the real one of a checkout of torch-spyre, function by function.

    python -m benchmarks.spyre_conformance PATH [--every N] [--first N] [--only WORD] [--fields]

The functions are those of `tests/spyre/recorded.json.xz`; `--every N` takes each N-th, from number `--first` on (0),
`--only` those with a word in their names. Both front ends compile each; a row says whether they agree: in the ops with
their spaces, splits, constants, device extents, coordinates and addresses, and then in the SuperDSC files, field by
field, which `--fields` prints. The last lines count, also by the field that differs first. Nothing is said of functions
that did not run.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from irwidget.errors import IRWidgetError, ToolError
from irwidget.spyre import FrontEnd, SpyreProgram, TensorSpec, compare, compile
from tests.spyre import recorded

FIELDS = 3
"""Fields that a row names."""


def main() -> None:
    """Compare, and print the table."""
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("checkout", help="the folder that torch_spyre/ is in")
    asked.add_argument("--every", type=int, default=1, help="take each N-th function")
    asked.add_argument("--first", type=int, default=0, help="begin at this one")
    asked.add_argument("--only", default="", help="take the functions with this in their names")
    asked.add_argument("--fields", action="store_true", help="print the fields of SuperDSC files that differ")
    given = asked.parse_args()
    names = [name for name in recorded.functions() if given.only in name][given.first :: given.every]
    verdicts: Counter[str] = Counter()
    fields: Counter[str] = Counter()
    begun = time.perf_counter()
    with FrontEnd(given.checkout) as real:
        real.start()
        for name in names:
            verdict, more = one(real, name)
            verdicts[verdict] += 1
            fields.update(path for path, _ in more)
            if verdict != "equal":
                print(f"{name}: {verdict}", flush=True)
                for path, said in more if given.fields else ():
                    print(f"    {path}: {said}")
        print(f"\n{real.semantics}")
    print(f"{len(names)} of {len(recorded.functions())} functions, {time.perf_counter() - begun:.0f} s")
    for verdict, count in verdicts.most_common():
        print(f"{count:5} {100 * count / max(1, len(names)):5.1f} %  {verdict}")
    if fields:
        print("fields of SuperDSC files that differ, by function:")
        for path, count in fields.most_common(20):
            print(f"{count:5}  {path}")


def one(real: FrontEnd, name: str) -> tuple[str, Sequence[tuple[str, str]]]:
    """The verdict on a function, and the fields of SuperDSC files that differ, with both values."""
    given = recorded.functions()[name]
    specs = [TensorSpec(shape, dtype, stride=stride) for shape, dtype, stride in given["inputs"]]
    function = recorded.function(given["code"])
    theirs, why = _compiled(function, specs, real)
    mine, refused = _compiled(function, specs, None)
    if theirs is None or mine is None:
        if theirs is mine:
            return "equal" if "died" not in why else f"not compared: {why}", ()
        return (
            f"only ours compiles; the real one: {why}" if mine else f"only the real one compiles; ours: {refused}"
        ), ()
    said = recorded.ops_of(theirs), recorded.ops_of(mine)
    if said[0] != said[1]:
        return f"ops differ in {', '.join(_parts(*said))}", ()
    found = [
        (_general(field.path), f"real {field.before}, ours {field.after}")
        for one_op in compare(theirs, mine).fields.values()
        for field in one_op
    ]
    distinct = list(dict(found).items())
    return (f"equal ops; SuperDSC differs in {len(distinct)} fields" if distinct else "equal"), distinct


def _compiled(function: Any, specs: Sequence[TensorSpec], real: FrontEnd | None) -> tuple[SpyreProgram | None, str]:
    """A program, or why there is none; a front end that died starts anew with the next function."""
    try:
        return compile(function, specs, frontend=real), ""
    except ToolError as error:
        return None, str(error).partition("\n")[0].rpartition("): ")[2]
    except IRWidgetError as error:
        return None, str(error).partition("\n")[0].rpartition("): ")[2]


def _parts(theirs: recorded.Ops, mine: recorded.Ops) -> Iterator[str]:
    """What differs between two lists of ops, from the coarse to the fine."""
    if [op["op"] for op in theirs] != [op["op"] for op in mine]:
        yield "which there are"
        return
    pairs = list(zip(theirs, mine, strict=True))
    for label, part in (("spaces and splits", "it"), ("constants", "const")):
        if any(a[part] != b[part] for a, b in pairs):
            yield label
    if any(len(a["args"]) != len(b["args"]) for a, b in pairs):
        yield "operands"
        return
    for position, label in ((1, "formats"), (2, "device extents"), (3, "coordinates"), (4, "placement")):
        if any(x[position] != y[position] for a, b in pairs for x, y in zip(a["args"], b["args"], strict=True)):
            yield label


def _general(path: str) -> str:
    """A field without the op and the tensor that it is of."""
    parts = path.split(".")
    return ".".join("*" if part.startswith("allocate-") or part.isdigit() else part for part in parts[:1] + parts[3:])


if __name__ == "__main__":
    main()
