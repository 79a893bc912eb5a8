"""A real log of Numba: a function that is compiled for two types, and one that is compiled inside of itself."""

from __future__ import annotations

import lzma
import re
from pathlib import Path

import pytest

import irwidget

LOG = lzma.decompress((Path(__file__).parent / "data" / "numba.log.xz").read_bytes()).decode()
BANNER = re.compile(r"^-+(\S+): nopython: AFTER (.+?)-+\n(.*?\n)\n", re.M | re.S)
CODE = re.compile(r"^-*((?:LLVM|OPTIMIZED)(?= DUMP)|ASSEMBLY) [^\n]*\n(.*?)\n*^={80}\n", re.M | re.S)
IMPL = "__main__._.<locals>.impl"
NAMES = ["code of nrt", "__main__.f", IMPL, f"{IMPL} (2)", f"{IMPL} (3)", f"code of {IMPL} (3)", f"code of {IMPL} (2)"]
NAMES += [f"code of {IMPL}", "code of __main__.f", "__main__.f (2)", f"{IMPL} (4)", f"code of {IMPL} (4)"]
NAMES += ["code of __main__.f (2)"]


def texts(log: str) -> dict[str, list[tuple[str, str]]]:
    return {low.name: [(dump.name, dump.text.rstrip("\n")) for dump in low.dumps] for low in irwidget.open(log)}


def test_compilations_inside_of_others_are_told_apart():
    found = irwidget.open(LOG)
    assert found.format == "numba"
    assert [low.name for low in found] == NAMES
    whole, by_name = texts(LOG), [(name, text.rstrip("\n")) for _, name, text in BANNER.findall(LOG)]
    runs = [
        by_name[:17],
        by_name[17:34],
        by_name[34:51],
        by_name[51:78],
        by_name[78:88],
        by_name[88:98],
        by_name[98:108],
    ]
    f, first, second, third, second_end, first_end, f_end = runs
    assert whole["__main__.f"] == f + f_end
    assert whole[IMPL] == first + first_end
    assert whole[f"{IMPL} (2)"] == second + second_end
    assert whole[f"{IMPL} (3)"] == third
    assert whole[f"{IMPL} (4)"] == by_name[125:152]
    assert whole["__main__.f (2)"] == by_name[108:125] + by_name[152:]
    assert not [low for low in found if low.diagnostics and low.name != "code of __main__.f (2)"]
    (said,) = found[-1].diagnostics
    assert said.message == "2 0"  # what the program printed


def test_code_goes_with_what_is_compiled():
    found = irwidget.open(LOG)
    code = [low for low in found if low.name.startswith("code of")]
    assert [(d.name, d.text.rstrip("\n")) for low in code for d in low.dumps] == CODE.findall(LOG)
    assert {(d.name, d.language) for low in code for d in low.dumps} == {
        ("LLVM", "llvm"), ("OPTIMIZED", "llvm"), ("ASSEMBLY", "x86asm"),
    }  # fmt: skip


@pytest.mark.parametrize("kept", ["nopython_type_inference", "ir_legalization"])
def test_of_one_pass_alone_each_compilation_is_told_by_it(kept):
    log = "".join(found[0] for found in BANNER.finditer(LOG) if found[2] == kept)
    assert [len(one) for one in texts(log).values()] == 6 * [1]


def test_with_texts_before_passes_the_first_is_the_input():
    before = BANNER.sub(lambda m: m[0].replace(": AFTER ", ": BEFORE ") + m[0], LOG)
    for name, dumps in texts(before).items():
        if not name.startswith("code of"):
            assert dumps[0] == ("input", dumps[1][1])
            assert [one[0] for one in dumps[1:] if not one[0].startswith("before ")] == [
                one[0] for one in texts(LOG)[name]
            ]


@pytest.mark.parametrize("kept", ["LLVM OPTIMIZED ASSEMBLY", "OPTIMIZED"])
def test_code_alone_is_told_apart_by_its_order(kept):
    code = "".join(f"{'=' * 80}\n{found[0]}" for found in CODE.finditer(LOG) if found[1] in kept.split())
    impl, f = "code of _.<locals>.impl", "code of f"
    assert [low.name for low in irwidget.open(code)] == [
        "code of nrt", impl, f"{impl} (2)", f"{impl} (3)", f, f"{impl} (4)", f"{f} (2)",
    ]  # fmt: skip
    assert [text for one in texts(code).values() for text in one] == [
        text for text in CODE.findall(LOG) if text[0] in kept.split()
    ]
    assert not [low for low in irwidget.open(code) if low.diagnostics]


def test_a_log_that_somebody_has_indented_is_no_text_of_ir():
    """LLVM IR and assembly are in it, too."""
    assert texts("".join(f"    {line}" for line in LOG.splitlines(True))) == texts(LOG)
