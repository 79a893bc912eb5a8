"""In which way something fails: what of a message is of one program alone, and which failures are no such thing."""

from dataclasses import replace
from pathlib import Path

import pytest

from irwidget.reducing import failing
from irwidget.reducing.failing import Kind, kind_of
from irwidget.reducing.pool import Pool
from irwidget.reducing.search import Search
from irwidget.reducing.tasks import IRTask, Outcome
from irwidget.toolchain import crashes
from irwidget.trace import Diagnostic, Failure, Verdict


def test_a_result_is_wrong_where_it_differs():
    assert failing.of_verdict(Verdict("differs", "cse", 3, "1 of 2 differs")) == Kind(
        "differs", "cse", "", "the result differs from eager PyTorch"
    )
    other = failing.of_verdict(Verdict("differs", "cse", reference="numpy"))
    assert other
    assert other.message == "the result differs from numpy"
    assert [failing.of_verdict(Verdict(state, "cse", 3, "said")) for state in ("equal", "not checked")] == [None, None]


def test_a_front_end_names_what_it_refuses_first():
    said = "net is no 'x.net' of net, net.weight"
    assert kind_of(Failure(0, "front end of torch", said), "net").message == "it is no 'x.net' of net, net.weight"
    assert kind_of(Failure(0, "cse", said), "net").message == said
    assert kind_of(Failure(0, "front end of torch", "x.net, 'net', network"), "net").message == "x.net, 'net', network"


@pytest.mark.parametrize(
    "said",
    [
        "timed out (after 5 s, the limit of this lowering)",
        "timed out (after 60 s, the limit of a candidate); it could not be stopped for 3 s more",
    ],
)
def test_which_limit_ran_out_is_no_matter(said):
    found = kind_of(Failure(0, "cse", f"cse {said}", kind="tool"))
    assert found == Kind("tool", "cse", "", "cse timed out")
    assert failing.timed_out(found)
    assert not failing.timed_out(kind_of(Failure(0, "cse", f"cse {said}")))
    assert not failing.timed_out(None)


def test_a_value_is_told_where_it_is_what_is_not_known():
    said = "the IR does not parse: {} %a\n  at line 2, column 11:\n  %0 = math.erf %a : f32\n                ^"
    unknown, other = (kind_of(Failure(0, "parse", said.format(why))) for why in ("undeclared", "odd"))
    assert (unknown.operation, other.operation) == ("math.erf of %a", "math.erf")


@pytest.mark.parametrize("shown", ['%0 = "a.b"(%1) {{kind = {}}}', '"a.b"(%1) {{kind = {}}}'])
def test_attributes_of_an_operation_that_is_shown_are_of_one_program(shown):
    kinds = {kind_of(Failure(0, "p", f"failed to legalize 'a.b': {shown.format(one)}")) for one in ("plain", "other")}
    assert kinds == {Kind("pass", "p", "a.b", "failed to legalize 'a.b'")}


def test_a_failure_that_lists_no_operation_is_not_one_that_lists_some():
    listing = Kind("pass", "p", "a.b", "failed", frozenset({"a.b", "c.d"}))
    fewer, none, more = (replace(listing, among=frozenset(one)) for one in ({"a.b"}, (), {"a.b", "e.f"}))
    assert [listing.includes(one) for one in (listing, fewer, none, more, None)] == [True, True, False, False, False]


@pytest.mark.parametrize(
    ("said", "operation"),
    [
        ("unable to legalize instruction: %3:_(s8) = G_LOAD %0:_(p0) :: (load (s5) from %ir.p, align 2)", "G_LOAD"),
        ("unable to legalize instruction: G_STORE %3:_(s5), %0:_(p0)", "G_STORE"),
        ("cannot select: %6:vr128(<4 x s32>), %7:vecr(<4 x s32>) = G_UNMERGE_VALUES %3:vr256", "G_UNMERGE_VALUES"),
        ("unable to map instruction: %17:_(s32) = G_INTRINSIC intrinsic(@llvm.ctpop.i5), %0", "llvm.ctpop.i5"),
        ("Cannot select: intrinsic %llvm.nvvm.shfl.sync.idx", "llvm.nvvm.shfl.sync.idx"),
        ("unable to translate instruction: call", ""),
    ],
)
def test_what_a_back_end_cannot_select_is_the_operation(said, operation):
    crash = "llc: pass codegen crashed (the worker was killed by SIGABRT: LLVM ERROR: {} (in function: {}))"
    one, other = (kind_of(Failure(0, "codegen", crash.format(said, name), kind="tool")) for name in ("f", "src.2"))
    assert (one.operation, one) == (operation, other)


def test_a_predicate_is_asked_of_complete_lowerings_only():
    with Pool() as pool:
        search = Search(pool, lambda text: IRTask(text, ()), str, None, lambda text: "math.erf" not in text, 1.0)
        failed = Outcome(Kind("pass", "cse", "", "failed"))
        assert [search.same(one) for one in (Outcome(None, "arith.addf"), Outcome(None, "math.erf"), failed)] == [
            True, False, False,
        ]  # fmt: skip


def test_of_candidates_side_by_side_the_first_is_taken():
    with Pool(2) as pool:
        assert [pool.first([("", one), ("", other)], lambda *_: True) for one, other in
                ((True, True), (False, True), (False, False))] == [0, 1, None]  # fmt: skip


def test_a_kind_of_failure_has_nothing_of_one_program():
    def kind(message):
        return kind_of(Failure(0, "p", message))

    said = (
        "failed to legalize operation 'tosa.add': %4 = \"tosa.add\"(%2, %3) : (tensor<2x4xf32>, i1) -> tensor<2x4xf32>"
    )
    other = "failed to legalize operation 'tosa.add': %9 = \"tosa.add\"(%a, %b) : (tensor<8xi32>, i1) -> tensor<8xi32>"
    assert kind(said) == kind(other)
    assert kind(said).operation == "tosa.add"
    assert kind(said) != kind(said.replace("tosa.add", "tosa.sub"))
    assert kind(said) != kind(said.replace("legalize", "verify"))
    crash = "mlir-opt: pass p crashed (the worker was killed by SIGSEGV)"
    assert kind(crash) != kind(crash.replace("SIGSEGV", "SIGABRT"))
    here, there = (kind(crash.replace(")", f" in a::b, lib.so+{at})")) for at in ("0x1", "0x2"))
    assert (here.place, here.message) == ("a::b, lib.so+0x1", kind(crash).message)
    assert here != there
    assert kind(crash).is_told_as(here), "a worker says no place"
    assert not kind(crash).is_told_as(kind(crash.replace("SIGSEGV", "SIGABRT")))
    assert [one.other_crashes for one in (kind(crash), here, kind(crash.replace(")", ": LLVM ERROR: x)")))] == [
        True, False, False,
    ]  # fmt: skip
    assert kind("no translation: memref.load, math.erf") != kind("no translation: math.erf")
    assert kind_of(Failure(0, "p", said)) != kind_of(Failure(0, "q", said))
    assert kind_of(Failure(0, "p", said)) != kind_of(Failure(0, "p", said, kind="tool"))


def test_crashes_of_a_program_are_told_apart_by_the_pass_that_it_was_at():
    said = "llc was killed by signal 5: PLEASE submit a bug report"
    dump = "PLEASE submit a bug report\nStack dump:\n0.\tProgram arguments: llc {}\n1.\tRunning pass 'CallGraph' on x\n"

    def crashed(name, file="a"):
        below = f"{dump.format(file)}2.\tRunning pass '{name}' on function '@g'\n#0 0x00007f"
        return kind_of(Failure(0, "llc", said, (Diagnostic("error", below),), "tool"))

    assert crashed("Selection", "a") == crashed("Selection", "b") != crashed("Allocation")
    assert str(crashed("Selection")) == "llc: llc was killed by signal : in Selection"


CRASH = """\
PLEASE submit a bug report to https://github.com/llvm/llvm-project/issues/
Stack dump:
0.\tProgram arguments: mlir-opt-22 --convert-vector-to-scf a.mlir
 #0 0x00007ff6b54b8786 llvm::sys::PrintStackTrace(llvm::raw_ostream&, int) (/usr/lib/libLLVM.so.22.1+0x4eb8786)
 #1 0x00007ff6b54b5fd3 llvm::sys::RunSignalHandlers() (/usr/lib/libLLVM.so.22.1+0x4eb5fd3)
 #2 0x00007ff6b54b94f4 (/usr/lib/libLLVM.so.22.1+0x4eb94f4)
 #3 0x00007ff6b005a050 (/lib/x86_64-linux-gnu/libc.so.6+0x3c050)
 #4 0x00007ff6b00a8eec __pthread_kill_implementation ./nptl/./nptl/pthread_kill.c:44:76
 #5 0x00007ff6bf689010 mlir::Block::getParentOp() (/usr/lib/libMLIR.so.22.1+0x6089010)
 #6 0x00007ff6bc2cedc9 (/usr/lib/libMLIR.so.22.1+0x2ccedc9)
"""


SYMBOLIZED = """\
PLEASE submit a bug report to https://github.com/llvm/llvm-project/issues/
 #0 0x00007ff6b54b8786 llvm::sys::PrintStackTrace(llvm::raw_ostream&, int) /llvm/lib/Support/Unix/Signals.inc:842:8
 #1 0x00007ff6b54b5fd3 llvm::sys::RunSignalHandlers() /llvm/lib/Support/Signals.cpp:109:18
 #2 0x00007ff6b54b94f4 SignalHandler(int) Signals.cpp:0:0
 #3 0x00007ff6b005a050 (/lib/x86_64-linux-gnu/libc.so.6+0x3c050)
 #4 0x00007ff6b00a8eec __pthread_kill_implementation ./nptl/./nptl/pthread_kill.c:44:76
 #5 0x00007ff6bf689010 mlir::Block::getParentOp() /mlir/lib/IR/Block.cpp:31:10
 #6 0x00007ff6bc2cedc9 (anonymous namespace)::Strided::match(mlir::Operation*) const /mlir/lib/Strided.cpp:12:3
"""


def test_crashes_of_a_program_are_told_apart_by_the_function_that_they_are_in():
    unnamed = CRASH.replace("mlir::Block::getParentOp() ", "")
    deep = CRASH + " #7 0x00007ff6bc2cedc9 (/usr/lib/libMLIR.so.22.1+0x2ccedc9)\n" * 250
    found = [crashes.place(said) for said in (CRASH, unnamed, deep, "Segmentation fault")]
    frames = ["dump", "handler", "libc.so.6", "own", "caller"]
    frames = "".join(f"{at}  {name}  0x{at}000 {name}(int) + 7\n" for at, name in enumerate(frames))
    many = "".join(f"{at}  python  0x{at}000 eval + 1\n" for at in range(5, 256))
    again = "".join(f"{at}  python  0x4000 eval + 1\n" for at in range(5, 256))
    absent, before = (f"8  {name}  0x1\n" * 3 for name in ("absent", Path("/proc/self/exe").resolve().name))
    inside = [crashes.place_inside(said) for said in (frames, frames + many, frames + again, absent, before, "")]
    assert inside == ["own, caller", "own, caller", "", "", "", ""]
    assert found == ["mlir::Block::getParentOp", "libMLIR.so.22.1+0x6089010", "", ""]
    said = "mlir-opt was killed by signal 11 in {}"
    (named, here, there) = (
        kind_of(Failure(0, "mlir-opt", said.format(one), kind="tool"))
        for one in (found[0], found[1], found[1].replace("9010", "9011"))
    )
    assert here not in (named, there)
    words = "remark\n" * 1000
    assert crashes.kept(words + CRASH).endswith(CRASH)
    assert crashes.kept(words + deep).count("getParentOp") == 1
    assert crashes.kept(words) == words[-4000:]
    said = f"{words}in.mlir:1:2: error: no\n{words}"
    assert crashes.kept(said) == f"{said[len(words) :][:2500]}\n...\n{words[-1500:]}"
    assert crashes.kept(said[-5000:]) == said[-5000:][-4000:]


@pytest.mark.parametrize("lines", [CRASH, SYMBOLIZED])
def test_crashes_of_a_program_in_a_function_are_told_apart_by_what_calls_it(lines):
    def crashed(said):
        message = f"mlir-opt was killed by signal 11 in {crashes.place(said)}"
        return kind_of(Failure(0, "mlir-opt", message, (Diagnostic("error", said),), "tool"))

    other = lines.replace("2ccedc9", "2ccedca").replace(":12:", ":13:")
    here, again, there = (crashed(one) for one in (lines, lines.replace("00007f", "00005a"), other))
    assert here.place.startswith("mlir::Block::getParentOp, ")
    assert here == again != there
    assert str(here) == f"mlir-opt: mlir-opt was killed by signal in {here.place}"


NOTE = 'note: see current operation: %2 = "linalg.pack"(%1) : (i32) -> i32'


@pytest.mark.parametrize(
    ("below", "operation"),
    [
        (Diagnostic("error", f"-:2:8: error: op was not\n-:2:8: {NOTE}\n-:3:8: error: other"), "linalg.pack"),
        (Diagnostic("error", f"-:2:8: error: op was not\n-:3:8: error: other\n-:3:8: {NOTE}"), ""),
        (Diagnostic("error", "op was not", None, (Diagnostic("note", NOTE),)), "linalg.pack"),
        (Diagnostic("error", "op was not", None, (Diagnostic("note", NOTE.replace("%2 = ", "\n")),)), "linalg.pack"),
    ],
)
def test_the_operation_that_a_note_shows_is_that_of_a_message_that_names_none(below, operation):
    failures = (Failure(0, "p", said, (below,)) for said in ("op was not", "'a.b' op was not"))
    assert [kind_of(one).operation for one in failures] == [operation, "a.b"]


def test_of_operations_that_a_message_lists_the_first_is_the_failure():
    two, first, one, other, none = (
        kind_of(Failure(0, "p", f"{count} operations have no translation{names}"))
        for count, names in ((2, ": a.b, c.d"), (1, ": a.b"), (1, ": c.d"), (1, ": e.f"), (3, ""))
    )
    assert two.includes(two)
    assert two.includes(first)
    assert not two.includes(one), "another cause"
    assert not one.includes(two)
    assert not two.includes(other)
    assert not two.includes(none)
    assert not none.includes(two)
    assert not two.includes(None)
    assert str(two) == "p at a.b: operations have no translation"
    cast = "builtin.unrealized_conversion_cast"
    assert kind_of(Failure(0, "p", f"2 have no translation: {cast}, c.d")).operation == "c.d", (
        "a cast is left by others"
    )
    assert kind_of(Failure(0, "p", f"2 have no translation: {cast}")).operation == cast
