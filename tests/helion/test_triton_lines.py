"""Lines of Helion's Triton, and of what Triton makes of it, lead to the kernel's."""

from __future__ import annotations

import inspect

import pytest
import torch

import irwidget
from irwidget.helion.triton_lines import places
from irwidget.trace import Location
from tests.helion import kernels_matmul as mm

ARGUMENTS = (torch.empty(64, 32, device="meta"), torch.empty(32, 64, device="meta"))
_LINES, _FIRST = inspect.getsourcelines(mm.matmul.fn)
FILE = inspect.getsourcefile(mm.matmul.fn)


def line(word: str) -> int:
    """The number of the kernel's line that has a word."""
    (number,) = (n for n, text in enumerate(_LINES, _FIRST) if word in text)
    return number


def test_each_statement_of_the_program_has_its_line():
    dump = irwidget.lower(mm.matmul, *ARGUMENTS, to="helion_triton").trace.dumps[-1]
    found = {}
    for text, place in zip(dump.text.splitlines(), dump.locations, strict=True):
        for word in (
            "pid_0 =",
            "acc = tl.full",
            "for offset_2",
            "tl.load(y",
            "acc = tl.dot",
            "tl.store",
            "@triton.jit",
        ):
            if word in text:
                found[word] = place and place.line
        assert place is None or place.file == FILE
    tile, loop, product = line("in hl.tile([m, n])"), line("in hl.tile(k)"), line("torch.addmm")
    assert found == {
        "pid_0 =": tile,
        "acc = tl.full": line("hl.zeros"),
        "for offset_2": loop,
        "tl.load(y": product,
        "acc = tl.dot": product,
        "tl.store": line("out[rows, columns]"),
        "@triton.jit": None,
    }


def test_products_lead_to_the_line_that_multiplies_and_each_ir_type_gets_its_own_options():
    own = {"arch": "sm_80", "aten": "raw", "config": {"block_sizes": [16, 32, 16]}}
    made = irwidget.lower(mm.matmul, *ARGUMENTS, to=["helion_mlir", "triton_gpu_ir", "triton_nvptx"], **own)
    for to, mark in (("triton_gpu_ir", "tt.dot "), ("triton_nvptx", "mma.sync")):
        trace = made[to].trace
        dump = trace.dumps[-1]
        lines = zip(dump.text.splitlines(), dump.locations, strict=True)
        assert {(place.file, place.line) for text, place in lines if mark in text and place} == {
            (FILE, line("torch.addmm"))
        }
        assert FILE in trace.sources
        assert trace.facts["arch"] == "sm_80"
    assert "tensor<16x32xf32" in made["triton_gpu_ir"].text
    assert "tensor<16x32xf32>" in made["helion_mlir"].text
    assert "torch.aten.addmm" in made["helion_mlir"].text
    with pytest.raises(irwidget.UsageError, match="has no argument and sm_90 no launch option 'aten'"):
        irwidget.lower(mm.matmul, *ARGUMENTS, to="triton_ir", aten="raw")


def test_what_no_comment_announces_has_no_place():
    program = ["import triton", "# src[other.py:3]: x", "", "  # src[k.py:7]: a", "  # src[k.py:8]:   b", "  a = 1"]
    program += ["  # src[k.py:8-9]: b", "  c", "d"]
    at = [None, None, None, 7, 8, 7, 8, 8, None]
    assert places("\n".join(program), ["/src/k.py"]) == tuple(n and Location("/src/k.py", n) for n in at)
