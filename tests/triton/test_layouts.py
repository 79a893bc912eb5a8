"""Layouts of tensors: every element's owners beside Triton's own printer, conversions beside Triton's own counts."""

import html
import itertools
import re

import numpy as np
import pytest
from triton.experimental import gluon
from triton.experimental.gluon import language as ttgl

import irwidget
from irwidget import display, layouts
from irwidget.errors import UnsupportedError, UsageError
from irwidget.frontends import triton as frontend
from irwidget.layouts import code, moving, text, types
from irwidget.layouts.found import of
from irwidget.layouts.placement import layouts as all_of
from irwidget.result import Lowering
from irwidget.toolchain import forked, triton_layouts, triton_private
from irwidget.trace import Trace, dump
from irwidget.views.base import SAVED
from tests.sampling import sampled
from tests.triton import kernels

ORDERS = {1: ["0"], 2: ["1, 0", "0, 1"], 3: ["2, 1, 0", "0, 2, 1"]}
BLOCKED = "#ttg.blocked<{{sizePerThread = [{0}], threadsPerWarp = [{1}], warpsPerCTA = [{2}], order = [{3}]}}>"
MMA2 = "#ttg.nvidia_mma<{versionMajor = 2, versionMinor = 0, warpsPerCTA = [%s], instrShape = [16, 8]}>"
MMA3 = "#ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, %d, 16]}>"
MFMA = "#ttg.amd_mfma<{version = %d, warpsPerCTA = [2, 2], instrShape = [%s], isTransposed = %s}>"
WMMA = "#ttg.amd_wmma<{version = %d, isTranspose = %s, ctaLayout = {warp = [[0, 1], [1, 0]]}}>"
SWIZZLED = "#ttg.swizzled_shared<{{vec = {0}, perPhase = {1}, maxPhase = {2}, order = [{3}]}}>"
NVMMA = "#ttg.nvmma_shared<{{swizzlingByteWidth = {0}, transposed = {1}, elementBitWidth = {2}}}>"


def tensor(shape, encoding, element="f16"):
    return f"tensor<{'x'.join(map(str, shape))}x{element}, {encoding}>"


def memory(shape, encoding, element="f16"):
    return f"!ttg.memdesc<{'x'.join(map(str, shape))}x{element}, {encoding}, #ttg.shared_memory, mutable>"


def cases():
    """Types with what a module says of threads: (type, threads of a warp)."""
    parts = [("1, 4", "8, 4", "4, 1"), ("2, 2", "4, 8", "2, 2"), ("8, 1", "32, 1", "1, 4"), ("1, 8", "2, 16", "1, 4")]
    blocked = [BLOCKED.format(*part, order) for part, order in itertools.product(parts, ORDERS[2])]
    for encoding, shape in itertools.product(blocked, [(64, 64), (16, 32), (4, 128), (2, 2), (1, 64)]):
        yield tensor(shape, encoding), 32
    for dim, encoding in itertools.product((0, 1), blocked):
        yield tensor((64,), f"#ttg.slice<{{dim = {dim}, parent = {encoding}}}>"), 32
    for order in ORDERS[3]:
        yield tensor((4, 16, 8), BLOCKED.format("1, 2, 2", "2, 4, 4", "2, 2, 1", order)), 32
    yield tensor((256,), BLOCKED.format("4", "32", "4", "0")), 32
    products = [MMA2 % "4, 1", MMA2 % "2, 2", MMA3 % 32, MMA3 % 64]
    for encoding, shape in itertools.product(products, [(64, 64), (128, 32), (16, 16)]):
        yield tensor(shape, encoding, "f32"), 32
    for parent, operand, width in itertools.product(products[:2], (0, 1), (1, 2, 4)):
        dot = f"#ttg.dot_op<{{opIdx = {operand}, parent = {parent}, kWidth = {width}}}>"
        yield tensor((64, 32), dot), 32
        yield tensor((16, 128), dot), 32
    for version, shape, transposed in itertools.product((1, 2, 3, 4), ("32, 32, 8", "16, 16, 16"), ("true", "false")):
        mfma = MFMA % (version, shape, transposed)
        yield tensor((128, 64), mfma, "f32"), 64
        for operand in (0, 1):
            yield tensor((64, 64), f"#ttg.dot_op<{{opIdx = {operand}, parent = {mfma}, kWidth = 4}}>"), 64
    for version, transposed in itertools.product((1, 2), ("true", "false")):
        yield tensor((64, 64), WMMA % (version, transposed), "f32"), 32
    for vec, per, most, order in itertools.product((1, 4, 8), (1, 2), (1, 4, 8), ORDERS[2]):
        yield memory((32, 64), SWIZZLED.format(vec, per, most, order)), 32
    for axes in ORDERS[3]:
        yield memory((4, 16, 8), SWIZZLED.format(2, 2, 4, axes)), 32
    for width, transposed, bits in itertools.product((0, 32, 64, 128), ("true", "false"), (8, 16, 32)):
        yield memory((128, 128), NVMMA.format(width, transposed, bits), f"i{bits}"), 32


CASES = list(cases())
THREE_AXES = memory((4, 16, 8), SWIZZLED.format(2, 2, 4, "1, 2, 0")), 32


def printed(kind, threads):
    """What Triton prints of a type's layout: for each element its owners."""

    def ask():
        said = types.Module({}, 4, threads)
        question = triton_layouts.Question("", said.attributes, kind.text)
        module = triton_layouts._parsed(question, f"tt.func @f(%arg0: {kind.text}) {{\ntt.return\n}}")
        builder = triton_private.gluon_builder(module.context)
        value = module.get_function("f").args(0)
        memory = kind.memory
        layout = (builder.get_gluon_layout_from_memdesc if memory else builder.get_gluon_layout_from_tensor)(value)
        return triton_private.libtriton("gluon_ir").get_layout_view(layout, list(kind.shape), bool(memory))

    return forked.call(ask, cuda=False)


@pytest.mark.parametrize(
    "case", [*sampled(CASES, 18), THREE_AXES], ids=lambda case: "-".join(re.findall(r"\w+", case[0]))[:80]
)
def test_owners_are_those_that_triton_prints(case):
    kind, threads = types.tensor_type(case[0]), case[1]
    layout = layouts.layout(case[0], threads_per_warp=threads)
    assert layout.why == ""
    view = printed(kind, threads)
    if kind.memory:
        told = re.findall(r"Offset: (\d+) -> \(([^)]*)\)", view)
        theirs = {int(offset): tuple(map(int, at.split(","))) for offset, at in told}
        offsets = np.arange(layout.known.sizes["offset"])
        elements = np.stack(layout.elements(offset=offsets), 1)
        assert {int(at): tuple(map(int, one)) for at, one in zip(offsets, elements, strict=True)} == theirs
        for element in itertools.product(*map(range, kind.shape)):
            (owner,) = layout.owners(*element)
            assert theirs[owner["offset"]] == element
            assert owner["bank"] == owner["offset"] * kind.bits // 8 // 4 % 32
        return
    theirs = [sorted(re.findall(r"T(\d+):(\d+)", cell)) for cell in re.split(r",|\n", view) if "T" in cell]
    owners = [layout.owners(*element) for element in itertools.product(*map(range, kind.shape))]
    numbers = [sorted((str(one["warp"] * threads + one["lane"]), str(one["register"])) for one in of) for of in owners]
    assert numbers == theirs


def test_the_first_owner_and_the_elements_of_a_place_agree_with_all_owners():
    layout = layouts.layout(tensor((16, 32), BLOCKED.format("1, 4", "8, 4", "4, 1", "1, 0")))
    thread, register = layout.table("thread"), layout.table("register")
    for element in itertools.product(range(16), range(32)):
        owners = layout.owners(*element)
        first = min(owners, key=lambda one: (one["warp"], one["lane"], one["register"]))
        assert (first["warp"] * 32 + first["lane"], first["register"]) == (thread[element], register[element])
        for one in owners:
            assert tuple(int(at) for at in layout.elements(**one)) == element
    assert layout.known.copies == 2, "32 rows of threads and registers hold 16"
    with pytest.raises(UsageError, match="has no bank; it has block, warp, lane, register, thread"):
        layout.table("bank")
    with pytest.raises(UsageError, match="has 32 of lane"):
        layout.elements(lane=32)
    with pytest.raises(IndexError):
        layout.owners(16, 0)


def test_padding_moves_bytes_and_not_elements():
    layout = layouts.layout(memory((64, 32), "#ttg.padded_shared<[32:+4] {order = [1, 0], shape = [64, 32]}>"))
    assert layout.owners(3, 5) == [
        {"offset": 3 * 36 + 5, "byte": 2 * (3 * 36 + 5), "bank": 2 * 113 // 4 % 32, "block": 0}
    ]


@pytest.mark.parametrize(("arch", "banks"), [("sm_90", 32), ("gfx942", 32), ("gfx950", 64), ("gfx1201", 0)])
def test_banks_are_those_of_the_gpu(arch, banks):
    layout = layouts.layout(memory((64, 64), SWIZZLED.format(1, 1, 1, "1, 0"), "f32"), arch=arch)
    (owner,) = layout.owners(0, 40)
    assert owner == {"offset": 40, "byte": 160, "block": 0} | ({"bank": 40 % banks} if banks else {})
    (_, row, *_) = text.drawn(layout).splitlines()
    assert row.split()[1] == ("1@1" if banks else "1")


def test_a_ring_of_barriers_has_the_layout_of_one():
    ring = layouts.layout(memory((3, 1), SWIZZLED.format(1, 1, 1, "0"), "i64"))
    assert ring.owners(0) == [{"offset": 0, "byte": 0, "bank": 0}]
    buffers = layouts.layout(memory((3, 32, 64), SWIZZLED.format(8, 1, 8, "1, 0")))
    assert buffers.linear == layouts.layout(memory((32, 64), SWIZZLED.format(8, 1, 8, "1, 0"))).linear


def test_a_conversion_runs_on_the_warps_that_have_the_tensor():
    one_warp = [BLOCKED.format(size, "8, 4", "1, 1", "1, 0") for size in ("1, 2", "1, 4")]
    moved = layouts.movement(*(layouts.layout(tensor((16, 16), one, "f32")) for one in one_warp))
    assert moved.how == "by shuffles"


def test_tensor_memory_has_rows_and_columns():
    encoding = "#ttng.tensor_memory_encoding<blockM = 64, blockN = 64, colStride = 1>"
    layout = layouts.layout(f"!ttg.memdesc<64x64xf32, {encoding}, #ttng.tensor_memory, mutable>", arch="sm_100")
    assert layout.owners(17, 5) == [{"row": 33, "col": 5}, {"row": 49, "col": 5}]


def test_what_triton_gives_no_layout_of_says_so():
    rotating = "#ttg.amd_rotating_shared<{vec = 4, perPhase = 1, maxPhase = 16, order = [1, 0]}>"
    layout = layouts.layout(memory((64, 64), rotating))
    assert "not available: Unhandled encoding" in repr(layout)
    with pytest.raises(UnsupportedError, match="Triton gives no linear layout"):
        layout.owners(0, 0)
    with pytest.raises(UsageError, match="is no type of a tensor with a layout"):
        layouts.layout("tensor<4xf32>")


def test_a_layout_that_ends_the_library_costs_only_itself(monkeypatch):
    good = types.tensor_type(tensor((64, 64), BLOCKED.format("1, 4", "8, 4", "4, 1", "1, 0")))
    said = types.Module({})
    real = triton_layouts._layout

    def abort_on_small(question):
        if question.shape == (4, 4):
            import os

            os.abort()
        return real(question)

    monkeypatch.setattr(triton_layouts, "_layout", abort_on_small)
    bad = types.tensor_type(tensor((4, 4), BLOCKED.format("1, 4", "8, 4", "4, 1", "1, 0")))
    found = all_of(said, [good, bad, good])
    assert [one.why for one in found] == ["", "Triton's library ends the process on this layout", ""]


# --- conversions ---------------------------------------------------------------------------

ROWS, COLUMNS = BLOCKED.format("1, 4", "8, 4", "4, 1", "1, 0"), BLOCKED.format("4, 1", "4, 8", "1, 4", "0, 1")
LINEAR = (
    "#ttg.linear<{register = [[0, %d], [0, %d]], lane = [[0, %d], [0, 8], [1, 0], [2, 0], [4, 0]], "
    "warp = [[8, 0], [16, 0]], block = []}>"
)
DOT = f"#ttg.dot_op<{{opIdx = 0, parent = {MMA2 % '4, 1'}, kWidth = 2}}>"
PAIRS = [
    (ROWS, COLUMNS, "by shared memory"),
    (ROWS, ROWS, "nothing"),
    (MMA2 % "4, 1", DOT, "nothing"),
    (BLOCKED.format("2, 1", "8, 4", "4, 1", "1, 0"), ROWS, "by shared memory"),
    (LINEAR % (1, 2, 4), LINEAR % (2, 1, 4), "within threads"),
    (LINEAR % (1, 2, 4), LINEAR % (1, 4, 2), "by shuffles"),
]


@pytest.mark.parametrize(("source", "result", "how"), PAIRS, ids=range(len(PAIRS)))
def test_a_conversion_moves_as_far_as_its_elements_are_away(source, result, how):
    a, b = (layouts.layout(tensor((32, 16), one, "f32")) for one in (source, result))
    moved = layouts.movement(a, b)
    assert moved.how == how
    assert sum(moved.stays.values()) == b.known.flat.size
    far = {name for name, count in moved.stays.items() if count}
    assert ("block" in far) == (how == "by shared memory")
    assert ("warp" in far) == (how in ("by shuffles", "by shared memory"))
    if how != "by shared memory":
        assert moved.wavefronts == (0, 0)
    for thread in (0, 5, 127):
        place = {"warp": thread // 32, "lane": thread % 32, "register": 1}
        element = tuple(int(at) for at in b.elements(**place))
        near = {(one["warp"], one["lane"]) for one in a.owners(*element)}
        assert (thread // 32, thread % 32) in near or far & {"warp", "block"}


@gluon.jit
def count_conflicts(
    SIZE: ttgl.constexpr, LANES: ttgl.constexpr, WARPS: ttgl.constexpr, ORDER: ttgl.constexpr, SWIZZLE: ttgl.constexpr
):
    registers: ttgl.constexpr = ttgl.BlockedLayout(SIZE, LANES, WARPS, ORDER)
    shared: ttgl.constexpr = ttgl.SwizzledSharedLayout(SWIZZLE[0], SWIZZLE[1], SWIZZLE[2], [1, 0])
    source: ttgl.constexpr = ttgl.distributed_type(ttgl.float32, [64, 64], registers)
    target: ttgl.constexpr = ttgl.shared_memory_descriptor_type(ttgl.float32, [64, 64], shared, [64, 64])
    ttgl.static_print("conflicts", ttgl.bank_conflicts(source, target))


SWIZZLES = [(1, 1, 1), (4, 1, 8), (2, 2, 4), (4, 2, 4), (8, 1, 2)]
READERS = [
    ([1, 4], [8, 4], [4, 1], [1, 0]),
    ([4, 1], [4, 8], [1, 4], [0, 1]),
    ([1, 1], [1, 32], [2, 2], [1, 0]),
    ([2, 1], [32, 1], [1, 4], [0, 1]),
]


@pytest.mark.parametrize("pair", sampled(itertools.product(SWIZZLES, READERS), 6), ids=str)
def test_bank_conflicts_are_as_many_as_triton_says(capsys, pair):
    swizzle, reader = pair
    blocked = BLOCKED.format(*(", ".join(map(str, numbers)) for numbers in reader))
    shared = SWIZZLED.format(*swizzle, "1, 0")
    load = layouts.movement(
        *(layouts.layout(kind) for kind in (memory((64, 64), shared, "f32"), tensor((64, 64), blocked, "f32")))
    )
    assert {access.kind for access in load.code.accesses} == {"load"}
    launch = frontend.launch_of(count_conflicts, *map(tuple, reader), swizzle, arch="sm_80")
    launch.compiled()
    theirs = int(re.search(r"conflicts (\d+)", capsys.readouterr().out)[1])
    # Triton counts for one instruction and one group of lanes that is served at once; here all are added up.
    wanted, fewest = load.wavefronts
    assert wanted == fewest * (1 + theirs)
    assert load.conflicts == wanted - fewest


def test_addresses_of_a_matrix_load_are_those_of_its_rows():
    plain = layouts.layout(memory((64, 64), SWIZZLED.format(1, 1, 1, "1, 0")))
    swizzled = layouts.layout(memory((64, 64), SWIZZLED.format(8, 1, 8, "1, 0")))
    registers = layouts.layout(tensor((64, 64), DOT))
    # eight rows of 128 bytes begin in one bank, and are read one after the other; swizzled, at once
    assert [layouts.movement(one, registers).wavefronts for one in (plain, swizzled)] == [(512, 64), (64, 64)]
    assert {one.instruction for one in layouts.movement(plain, registers).code.accesses} == {"ldmatrix.x4"}


def test_stores_that_not_all_threads_take_part_in_are_counted_for_those_that_do():
    asm = 'llvm.inline_asm has_side_effects "@$2 st.shared.b32 [ $0 + 4 ], $1;", "r,r,b" %p, %v, %on : ()'
    lines = f"""llvm.func @f(%arg0: !llvm.ptr<3>)
    %t = nvvm.read.ptx.sreg.tid.x : i32
    %k = llvm.mlir.constant(128 : i32) : i32
    %n = llvm.mlir.constant(4 : i32) : i32
    %o = llvm.mul %t, %k : i32
    %on = llvm.icmp "slt" %t, %n : i32
    %p = llvm.getelementptr %arg0[%o] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i8
    %x = {asm}"""
    (access,) = code.read(lines, 1, 32).accesses
    assert access.addresses[0, :3].tolist() == [4, 132, 260]
    assert access.wavefronts() == (4, 1), "four lanes want four words of bank 1"
    two = '"nvvm.ldmatrix"(%p) <{num = 2 : i32}> : (!llvm.ptr<3>) -> !llvm.struct<(i32, i32)>'
    (access,) = code.read(lines.replace(asm, two), 1, 32).accesses
    assert access.addresses.shape == (1, 16), "the rows of two matrices, by as many lanes"
    same = code.SharedAccess("load", "ld.shared.b32", 4, np.repeat([[0, 128]], 16, axis=1))
    assert same.wavefronts() == (2, 1), "lanes that want the same word get it at once"


def test_what_is_not_counted_says_so():
    mfma = MFMA % (3, "32, 32, 8", "true")
    a, b = (layouts.layout(tensor((64, 64), one), threads_per_warp=64, arch="gfx942") for one in (
        mfma, BLOCKED.format("1, 8", "8, 8", "4, 1", "1, 0")))  # fmt: skip
    moved = layouts.movement(a, b)
    assert (moved.how, moved.wavefronts, moved.conflicts) == ("by shared memory", None, None)
    assert "bank conflicts not counted" in repr(moved)
    wrong = layouts.layout(tensor((64, 64), BLOCKED.format("1, 8", "4, 8", "4, 1", "1, 0")), threads_per_warp=64)
    refused = layouts.movement(a, wrong, "gfx942")
    assert (refused.how, refused.conflicts) == ("not known", None)
    assert "invalid layout" in refused.why
    with pytest.raises(UsageError, match="not of one shape"):
        layouts.movement(a, layouts.layout(tensor((64, 32), mfma), threads_per_warp=64))


def test_loads_that_transpose_read_shared_memory():
    wmma = (WMMA % (3, "true")).replace("}}>", "}, instrShape = [16, 16, 32]}>")
    seen = []
    for arch, threads, mma in (("gfx950", 64, MFMA % (4, "16, 16, 32", "true")), ("gfx1250", 32, wmma)):
        dot = tensor((32, 32), f"#ttg.dot_op<{{opIdx = 1, parent = {mma}, kWidth = 8}}>")
        shared = memory((32, 32), SWIZZLED.format(1, 1, 1, "1, 0"))
        moved = layouts.movement(
            *(layouts.layout(one, threads_per_warp=threads, arch=arch) for one in (shared, dot)), arch
        )
        assert (moved.how, moved.stays, moved.wavefronts) == ("by shared memory", {}, None)
        seen.append([(one.kind, one.instruction, one.bytes) for one in moved.code.accesses])
    assert seen == [[("load", "ds.read.tr16.b64", 8)] * 2, [("load", "ds.load.tr16.b128", 16)] * 2]


def test_a_load_by_instructions_that_are_not_known_is_one_from_shared_memory(monkeypatch):
    monkeypatch.setattr(moving, "read", lambda *_: code.Code(0, (), 0))
    shared, registers = (
        layouts.layout(memory((64, 64), SWIZZLED.format(1, 1, 1, "1, 0"))),
        layouts.layout(tensor((64, 64), DOT)),
    )
    moved = layouts.movement(shared, registers)
    assert (moved.how, moved.wavefronts, moved.conflicts) == ("by shared memory", None, None)
    assert repr(moved).endswith(
        "by shared memory; by instructions that are not known here; bank conflicts not counted>"
    )


def test_a_wmma_layout_of_one_warp_is_read_as_triton_prints_it():
    wmma = "#ttg.amd_wmma<{version = 2, isTranspose = true, ctaLayout = {%s}}>"
    kinds = [tensor((16, 16), wmma % said, "f32") for said in ("", "warp = []", "register = [[1, 0]]")]
    one, same, other = (layouts.layout(kind, num_warps=1, arch="gfx1201").linear for kind in kinds)
    assert one == same != other
    said = '"ttg.num-warps" = 1 : i32, "ttg.threads-per-warp" = 32 : i32, ttg.target = "hip:gfx1201"'
    text = f"""module attributes {{{said}}} {{
      tt.func public @f(%arg0: !tt.ptr<f32>) {{
        %0 = arith.constant dense<1.0> : {kinds[0]}
        %1 = tt.splat %arg0 : !tt.ptr<f32> -> {kinds[0].replace("f32", "!tt.ptr<f32>")}
        tt.store %1, %0 : {kinds[0].replace("f32", "!tt.ptr<f32>")}
        tt.return
      }}
    }}"""
    found = irwidget.lower(text, to="triton_llvm_ir", arch="gfx1201")
    assert found.failure is None
    assert "ctaLayout = {}" in found.dumps[1].text


# --- of a lowering -------------------------------------------------------------------------


@pytest.fixture(scope="module")
def low():
    launch = frontend.capture(kernels.matmul, "sm_80")[0]
    return Lowering(frontend.lower(launch, to="triton_gpu_ir"))


def test_every_tensor_of_a_dump_has_its_layout(low):
    found = low.layouts()
    wanted = {
        kind for line in found.dump.text.splitlines() if not line.startswith("#") for _, kind in types.types(line)
    }
    assert {one.type for one in found.tensors} == wanted
    assert all(one.linear for one in found.by_type.values())
    dots = [one for one in found.tensors if one.type.encoding.startswith("#ttg.dot_op") and one.name]
    assert {one.type.shape for one in dots} == {(64, 16), (16, 64)}
    assert low.layout(dots[0].name).type == dots[0].type
    assert low.layout(dots[0].line) == low.layout(dots[0].type.text)


def test_block_arguments_and_results_by_number_have_their_types():
    text = """#blocked = #ttg.blocked<{}>
  tt.func public @f(%x: tensor<4x8xf32, #blocked> {tt.divisibility = 16 : i32}, %n: i32) {
    %sum:2 = scf.for %i = %a to %b step %c iter_args(%acc = %zero, %p = %x) -> (\
tensor<4x8xf16, #blocked>, tensor<4xi1, #ttg.slice<{dim = 1, parent = #blocked}>>)  : i32 {
    %y = tt.load %p, %m : tensor<4x8x!tt.ptr<f16>, #blocked>
    %buffer = ttg.local_alloc : () -> !ttg.memdesc<2x4x8xf16, #shared, #smem, mutable>
    tt.store %p, %y : tensor<4x8x!tt.ptr<bf16>, #blocked>
"""  # fmt: skip
    found = [(one.line, one.name, one.type.shape, one.type.element) for one in types.tensors(text)]
    assert found == [
        (2, "%x", (4, 8), "f32"),
        (3, "%sum#0", (4, 8), "f16"),
        (3, "%sum#1", (4,), "i1"),
        (4, "%y", (4, 8), "!tt.ptr<f16>"),
        (5, "%buffer", (2, 4, 8), "f16"),
        (6, "", (4, 8), "!tt.ptr<bf16>"),
    ]


def test_a_line_has_the_layout_of_its_first_result_and_lines_are_listed_as_spans():
    names = [f"    %y{at} = arith.negf %a : tensor<8xf32, #blocked>" for at in range(8)]
    lines = [
        "  tt.func public @f(%a: tensor<8xf32, #blocked>) {",
        *names,
        "    scf.yield",
        "    %s:2 = scf.for %i = %b to %c step %d iter_args(%e = %a) -> (tensor<4xf16, #x>, tensor<2xi1, #y>) {",
        "    tt.store %p, %a : tensor<8x!tt.ptr<f32>, #blocked>",
    ]
    asked = []

    def ask(questions):
        asked.append([one.type for one in questions])
        return [triton_layouts.Answer(why="nobody knows") for _ in questions]

    trace = Trace("triton_gpu_ir", (dump("input", "\n".join(lines), step=-1),), (), name="f")
    found = of(trace, 0, ask)
    kinds = [f"tensor<{kind}>" for kind in ("8xf32, #blocked", "4xf16, #x", "2xi1, #y", "8x!tt.ptr<f32>, #blocked")]
    assert [found[line].type.text for line in (1, 9, 11, 12)] == [kinds[at] for at in (0, 0, 1, 3)]
    assert asked == [kinds], "at once"
    with pytest.raises(UsageError, match="line 10 of input has no tensor with a layout; lines 1-9, 11-12 do"):
        found[10]
    assert str(found.text).splitlines()[:4] == [
        "f, after input: 4 layouts",
        f"  {kinds[0]}: not available: nobody knows",
        "    #blocked",
        "    %a, %y0, %y1, %y2, %y3, %y4 and 3 more",
    ]
    with pytest.raises(UsageError, match="f has no dump with layouts"):
        of(trace)


def test_conversions_of_a_dump_are_at_their_lines(low):
    found = low.layouts()
    lines = found.dump.text.splitlines()
    assert found.conversions
    for line, name, moved in found.conversions:
        assert name in lines[line - 1]
        assert moved.result.type.text in lines[line - 1]
        assert moved.conflicts == 0, "Triton's own swizzling"
    assert "by shared memory" in repr(found)


def test_a_dump_without_layouts_says_where_there_are_some(low):
    with pytest.raises(UsageError, match="dump 0, .*, has no tensor with a layout"):
        low.layouts(0)
    with pytest.raises(UsageError, match=r"has no tensor '%nothing'"):
        low.layout("%nothing")
    with pytest.raises(UsageError, match="line 1 of canonicalize has no tensor with a layout; lines "):
        low.layout(1)
    plain = irwidget.lower("func.func @f() {\n  return\n}", to="raw_ir")
    with pytest.raises(UsageError, match="triton_gpu_ir has them"):
        plain.layouts()


def test_the_text_twin_names_owners(low, monkeypatch):
    layout = layouts.layout(tensor((2, 4), BLOCKED.format("1, 2", "16, 2", "4, 1", "1, 0")))
    first = text.drawn(layout).splitlines()[1]
    assert first.split() == ["0:0:0|1:0:0|..", "0:0:1|1:0:1|..", "0:1:0|1:1:0|..", "0:1:1|1:1:1|.."]
    found = low.layouts()
    assert "#ttg.nvidia_mma" in repr(found)
    monkeypatch.setattr(display, "cell_id", lambda *_: "a")
    shown, _ = found._repr_mimebundle_()
    assert shown["text/plain"] == repr(found)
    assert text.drawn(next(iter(found.by_type.values()))) in html.unescape(shown["text/html"])
    assert shown[SAVED]["views"][0]["bundle"] == "layouts"
    assert "application/vnd.jupyter.widget-view+json" in shown
