"""Logs that nobody should have to read: cut, mixed, mutated, packed too well. An error of ours, or a partial result."""

from __future__ import annotations

import bz2
import gzip
import lzma
import random
import re
import shutil
import subprocess
import textwrap
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import irwidget
from irwidget.readers import log
from tests.readers.test_open import BANNER, LOG
from tests.readers.test_places import PROGRAM

DATA = Path(__file__).parent / "data"
DEBUG = f"""; *** IR Dump After X on [module] ***
{PROGRAM}
# *** IR Dump After I (i) ***:
# Machine code for function f: NoPHIs
  RET64 $eax, debug-location !9; sq.h:2:9 @[ x.c:4:7 ]
# End machine code for function f.
"""
KEPT = [gzip.decompress(path.read_bytes()) for path in sorted(DATA.glob("*.gz"))]
KEPT += [lzma.decompress(path.read_bytes()) for path in sorted(DATA.glob("*.log.xz"))]
SEEDS = [LOG.encode(), DEBUG.encode(), *(data[:8000] for data in KEPT)]
TOKENS = [
    BANNER.format("A (a)").encode(),
    b"; *** IR Dump After X on f ***\n",
    b"*** IR Dump At Start ***\n",
    b"\0",
    b"\xff\xfe",
    b"# *** IR Dump After I (i) ***:\n",
    b"define i32 @f() {\n",
    b"}\n",
    b", inlinedAt: !9",
    b"line: ",
    b"{",
    b'"',
    b" loc(",
    b"#loc = loc(#loc)\n",
    b"\r\n",
    b"*** IR Deleted After X on f ***\n",
    b"*** IR Pass X on loop invalidated ***\n",
    b"Stack dump:\n",
    b"  module {\n",
    BANNER.format("Before").replace("After", "Before", 1).encode(),
    b'loc("a":1:',
    b"{-#",
    b"#map = ",
    b"; IR before pass x\n",
    b'After Running Pass: transform.PassInfo(name="x")\n',
    b"Lowering after x: (unchanged)\n",
    b"\t",
]


@st.composite
def mutated(draw) -> bytes:
    data = bytearray(draw(st.sampled_from(SEEDS)))
    for _ in range(draw(st.integers(1, 8))):
        at = draw(st.integers(0, len(data)))
        match draw(st.integers(0, 4)):
            case 0:
                del data[at : at + draw(st.integers(1, 2000))]
            case 1:
                data[at:at] = draw(st.sampled_from(TOKENS))
            case 2:
                data[at:at] = draw(st.binary(min_size=1, max_size=20))
            case 3:
                start = draw(st.integers(0, len(data)))
                data[at:at] = data[start : start + draw(st.integers(1, 2000))]
            case _:
                data[at:at] = draw(st.sampled_from(SEEDS))[: draw(st.integers(1, 2000))]
    return bytes(data)


def looked_at(data: bytes) -> int:
    """Open it, and look at everything; the number of dumps. Raises only errors of ours that are not a defect's."""
    count = 0
    try:
        for low in irwidget.open(data):
            low.to_dict()
            count += len(low.dumps)
    except irwidget.IRWidgetError as error:
        if error.__cause__ is not None:
            raise error.__cause__ from None
    return count


def said_of(data: bytes) -> object:
    """What opening gives, or the error."""
    try:
        return [low.to_dict() for low in irwidget.open(data)]
    except irwidget.IRWidgetError as error:
        return str(error)


@pytest.mark.parametrize("piece", [1000, 1500, 1 << 12])
def test_what_is_read_in_pieces_is_what_is_read_at_once(piece, monkeypatch):
    """Whatever stands where a piece ends: a banner, an operation, the second function of a module."""
    for data in SEEDS:
        if max(map(len, data.splitlines())) < piece:
            whole = said_of(data)
            with monkeypatch.context() as patched:
                patched.setattr(log, "WINDOW", piece)
                assert said_of(data) == whole


@settings(max_examples=60, deadline=None)
@given(mutated())
def test_mutated_logs(data):
    looked_at(data)


@pytest.mark.parametrize("where", range(0, len(LOG), 23))
def test_cut_anywhere(where):
    looked_at(LOG.encode()[:where])


def test_bytes_that_are_no_text_stay_what_they_are():
    (low,) = irwidget.open(LOG.encode().replace(b"x.y", b"\xff\0"))
    assert "\udcff\0" in low.dumps[1].text
    assert irwidget.open(LOG.replace("\n", "\r\n"))[0].dumps[1].text == irwidget.open(LOG)[0].dumps[1].text


def test_bytes_that_are_no_text_around_functions_of_one_name():
    function = "func.func @f(%x: {}) {{\n  return\n}}\n"
    one, two = (function.format(kind) for kind in ("i32", "i64"))
    inside = "".join(
        f"  module @{name} {{\n{textwrap.indent(text, '    ')}  }}\n" for name, text in (("a\xff", one), ("b", two))
    )
    log = BANNER.format("A (a)") + f"module {{\n{inside}}}\n" + BANNER.format("B (b)") + one
    (low,) = irwidget.open(log.encode("latin-1"))
    assert [str(dump.scope) for dump in low.dumps] == ["module", "func.func @f in @a"]


def test_two_processes_in_one_log():
    lines = LOG.encode().splitlines(keepends=True)
    mixed = b"".join(one + b"[1] step 3: loss 0.5\n" for one in lines)
    assert looked_at(mixed) == 3


@pytest.mark.parametrize(
    "text",
    [
        BANNER.format("A (a)") + "module {\n" + "x" * 3_000_000 + "\n}\n",
        BANNER.format("A (a)") + 'module "' + '\\"' * 1_000_000,
        "*** IR \n" * 200_000,
        BANNER.format("A (a)") + "module {\n" + "  a loc((((" * 50_000 + "\n}\n",
        BANNER.format("A (a)") + "%" + " = " * 500_000 + "\n",
        BANNER.format("A (a)") + "module {\n" + ("x" + " at a:1:2" * 5_000 + " \n") * 20 + "} [unknown]\n",
        "HloModule x\n" + "metadata={" * 200_000,
        'V0101 1:1 1 a.py:1] {"dynamo_output_graph": {}}\n\tx\n' + "hello\n" * 150_000,
        '{"event_type": "compilation", "a":' + "[" * 500_000,
        "*** IR Dump At Start ***\n" + "define @" * 200_000 + "\n",
        BANNER.format("A (a)") + "module {\n" + "func" * 250_000 + "\n}\n",
        BANNER.format("A (a)") + "module {\n" + '"func"(' * 140_000 + "\n}\n",
        "*** IR Dump After X on f ***\n" + " \n" * 500_000,
        "".join(BANNER.format("A (a)") + f"module {{\n  func.func @f{i}() {{\n  }}\n}}\nhi\n" for i in range(4000)),
        BANNER.format("A (a)")
        + "module {\n" + "".join(f"  module {{\n    func.func @f{i}() {{\n    }}\n  }}\n" for i in range(2500)) + "}\n"
        + "".join(BANNER.format("C (c)") + f"module {{\n  func.func @f{i}() {{\n  }}\n}}\n" for i in range(2500)),
        BANNER.format("A (a)") + "".join(f"#map{i} = affine_map<(d0) -> (d0 + {i})>\n" for i in range(8000))
        + "module {\n  func.func @f() {\n  }\n}\n"
        + (BANNER.format("C (c)") + "#map = affine_map<(d0) -> (d0)>\nfunc.func @f() {\n  x.y #map\n}\n\n") * 200,
        "HloModule x\nFileNames\n1 \"a.py\"\nFileLocations\n1 {file_name_id=1 line=1}\nStackFrames\n"
        + "".join(f"{i} {{file_location_id={i % 2} parent_frame_id={i}}}\n" for i in range(1, 8000))
        + "\n" + "".join(f"x metadata={{stack_frame_id={i}}}\n" for i in range(8000)),
    ],
)  # fmt: skip
def test_no_log_takes_time_with_its_square(text):
    """Each takes at most 1.5 s on an idle core; under load, several times that."""
    began = time.process_time()
    looked_at(text.encode())
    assert time.process_time() - began < 15


def zstd(data: bytes) -> bytes:
    program = shutil.which("zstd") or pytest.skip("needs zstd")
    return subprocess.run([program, "-q"], input=data, capture_output=True, check=True).stdout


PACKED = [gzip.compress, lzma.compress, bz2.compress, zstd]


@pytest.mark.parametrize("packed", PACKED)
def test_compressed_logs(tmp_path, packed):
    whole = packed(LOG.encode()) + packed(BANNER.format("Z (z)").encode() + b"module {\n}\n")
    assert [dump.name for dump in irwidget.open(whole)[0].dumps] == ["a", "c", "b", "z"]
    long = "".join(f"{LOG}{random.Random(i).randbytes(9000).hex()}\n" for i in range(60))  # two blocks of bzip2
    (tmp_path / "a.log").write_bytes(packed(long.encode())[:-2000])
    lows = irwidget.open(tmp_path / "a.log")
    assert 100 < sum(len(low.dumps) for low in lows) <= 180
    assert "is damaged after" in lows[-1].diagnostics[-1].message
    with pytest.raises(irwidget.UsageError):
        irwidget.open(whole[:10] + b" garbage")


@pytest.mark.parametrize("packed", PACKED)
def test_a_bomb_is_refused(packed):
    with pytest.raises(irwidget.UsageError, match="unpacks to more than"):
        irwidget.open(packed(b"\0" * (80 << 20)))
    with pytest.raises(irwidget.UsageError, match="unpacks to more than"):
        irwidget.open(packed(LOG.encode() * 50), most=10_000)


def test_a_machine_function_beside_a_module_is_by_itself():
    machine = (
        "# *** IR Dump After I (i) ***:\n# Machine code for function g: x\nbb.0:\n# End machine code for function g.\n"
    )
    start = "*** IR Dump At Start ***\n; ModuleID = 'x'\ndefine i32 @f() {\n}\n"
    found = irwidget.open(start + machine + BANNER.format("A (a)") + "func.func @f() {\n}\n" + machine)
    assert [str(dump.scope) for low in found for dump in low.dumps] == ["module", "g", "f", "g"]
    odd = "# *** IR Dump After I (i) ***:\nbb.0:\n"
    (low,) = irwidget.open(odd + machine + odd + machine)
    assert [dump.language for dump in low.dumps] == ["mir"] * 4


@pytest.mark.parametrize("head", ["    gpu.func @k() kernel {", "  gpu.func @k() kernel {", "x"])
def test_a_text_without_an_operation_has_no_place_in_a_module(head):
    banner = BANNER.format("A (a)").replace("After", "Before")
    looked_at(f"{banner}    gpu.func @k() kernel {{\n{banner}{head}\n{banner}".encode())  # it did not end


def test_what_was_left_out_is_counted():
    said = "".join(BANNER.format(f"A (a{i})") + f"module {{\n}}\nnote: number {i}\n" for i in range(1100))
    (low,) = irwidget.open(said)
    assert len(low.diagnostics) == 1001
    assert low.diagnostics[-1].message == "The log says more between its dumps: 100 remarks that are not listed"


@pytest.mark.parametrize("name", ["halide", "tvm", "numba", "torch_logs"])
def test_a_log_that_ends_within_a_line_says_so(name):
    """Nothing else tells where a text of these ends."""
    (path,) = DATA.glob(f"{name}.log.*z")
    log = (gzip if path.suffix == ".gz" else lzma).decompress(path.read_bytes())
    ends = [match.end() for match in re.finditer(rb"\w = \w", log)]
    for at in random.Random(name).sample(ends, 4):
        said = {one.message.partition(", in the IR")[0] for low in irwidget.open(log[:at]) for one in low.diagnostics}
        assert [one for one in said if one.startswith(("The log ends without a line break", "The log ends in the"))]
    whole = log[: log.rfind(b"\n", 0, at) + 1]
    assert not [one for low in irwidget.open(whole) for one in low.diagnostics if "without a line" in one.message]


@pytest.mark.parametrize("word", ["attr", "sou", "declare i32 ", "target"])
def test_a_module_of_llvms_that_ends_within_a_word(word):
    log = f"*** IR Dump After X on [module] ***\n; ModuleID = 'x'\ndefine i32 @f() {{\n}}\n{word}"
    (said,) = irwidget.open(log)[0].diagnostics
    assert "ends in the middle of the IR after X" in said.message


def test_a_line_that_is_no_event_of_tritonparse_is_counted():
    data = gzip.decompress((DATA / "tritonparse.ndjson.gz").read_bytes())
    assert not [one for low in irwidget.open(data) for one in low.diagnostics if "no events" in one.message]
    for lost in (data[:-20], data + b"Killed\n"):
        said = irwidget.open(lost)[-1].diagnostics[-1]
        assert (said.severity, said.message.partition(" of ")[0]) == ("warning", "1 lines")
