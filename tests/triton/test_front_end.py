"""Triton's Python front end may crash, never end, or refuse: the kernel of the notebook lives, and is told why."""

import os
import signal
import textwrap
import threading
import time

import pytest
import torch
import triton
import triton.language as tl

import irwidget
from benchmarks.triton_conformance import told
from irwidget.errors import PassError, ToolError
from irwidget.frontends import triton as frontend
from irwidget.frontends.triton.stand_ins import TypeName, named_type
from irwidget.toolchain import triton_private, triton_state
from irwidget.toolchain.triton_opt import load_all_dialects
from irwidget.trace import Location
from tests.triton.kernels import add_kernel

FILE = __file__


@triton.jit
def divides_by_zero(x_ptr):
    x = tl.load(x_ptr + tl.arange(0, 64))
    y = tl.inline_asm_elementwise("mov.b32 $0, $1;", "=r,r", [x], dtype=tl.float32, is_pure=True, pack=0)
    tl.store(x_ptr + tl.arange(0, 64), y)


@triton.constexpr_function
def never_ends():
    while True:
        pass


@triton.jit
def waits_for_ever(x_ptr):
    tl.store(x_ptr, never_ends())


@triton.constexpr_function
def eats(size):
    return len(bytearray(size))


@triton.jit
def eats_memory(x_ptr):
    tl.store(x_ptr, eats(1 << 34))


@triton.constexpr_function
def fails(x):
    return x // 0


@triton.jit
def fails_in_python(x_ptr):
    tl.store(x_ptr, fails(1))


@triton.jit
def not_valid(x_ptr):
    x = tl.load(x_ptr + tl.arange(0, 64))
    tl.static_print("before it")
    y = tl.inline_asm_elementwise("mov.b32 $0, $1;", "=r,r", [x], dtype=tl.float32, is_pure=True, pack=3)
    tl.store(x_ptr + tl.arange(0, 64), y)


@triton.jit
def calls_itself(x_ptr):
    calls_itself(x_ptr)


@triton.jit
def one_of_two(x_ptr):
    other_of_two(x_ptr)


@triton.jit
def other_of_two(x_ptr):
    one_of_two(x_ptr)


def fails_to_name(specialization):
    raise ValueError("no name")


@triton.jit(repr=fails_to_name)
def has_no_name(x_ptr):
    tl.store(x_ptr, 1.0)


TABLE = torch.arange(3)


@triton.jit
def reads_a_tensor(x_ptr):
    tl.store(x_ptr, TABLE)


@triton.jit
def names_a_function(x_ptr):
    y = tl.load(x_ptr)
    tl.store(x_ptr, y + textwrap.dedent(y))


@triton.jit
def calls_what_names_a_function(x_ptr):
    tl.store(x_ptr, 1)
    names_a_function(x_ptr)


def line_of(kernel, number):
    return triton_private.definition(kernel)[1] + number


def launch(kernel, **limits):
    with frontend.recording("sm_90", **limits) as launches:
        kernel[(1,)](torch.rand(64, device="cuda"))
    return launches


def test_a_crash_costs_the_cell_and_names_the_launch():
    with pytest.raises(ToolError) as caught:
        launch(divides_by_zero)
    line = launch.__code__.co_firstlineno + 2
    assert str(caught.value) == (
        "Triton's front end crashed on divides_by_zero: the process was killed by SIGFPE\n"
        f'  launched at {FILE}:{line}\n    kernel[(1,)](torch.rand(64, device="cuda"))'
    )
    assert (caught.value.tool, caught.value.pass_name) == ("triton", "ast-to-ttir")
    low = irwidget.lower(add_kernel, *[torch.rand(64)] * 3, 64, BLOCK=64, to="triton_gpu_ir")
    assert low.failure is None


@pytest.mark.parametrize(
    ("kernel", "limits", "message"),
    [
        (waits_for_ever, {"seconds": 0.5}, r"timed out on waits_for_ever \(after 0.5 s\)"),
        (eats_memory, {"memory": 1 << 30}, "ran out of memory on eats_memory"),
    ],
)
def test_time_and_memory_are_limited(kernel, limits, message):
    with pytest.raises(ToolError, match=rf"Triton's front end {message}\n  launched at {FILE}"):
        launch(kernel, **limits)


def test_the_time_limit_is_that_of_lower():
    with pytest.raises(ToolError, match="front end (of Triton )?timed out"):
        irwidget.lower(waits_for_ever, torch.rand(4), to="triton_ir", timeout=0.5)


def test_all_launches_of_a_cell_share_its_time():
    def cell(launches):
        x = torch.rand(64, device="cuda")
        add_kernel[(1,)](x, x, x, 64, BLOCK=64)
        assert 0 < launches.seconds < 30
        launches.seconds = 0.1
        waits_for_ever[(1,)](x)

    began = time.monotonic()
    with pytest.raises(ToolError, match="timed out on waits_for_ever"), frontend.recording("sm_90", seconds=30) as all_:
        cell(all_)
    assert time.monotonic() - began < 20


def test_types_as_text_say_what_is_divisible_and_what_is_one():
    found = [named_type(one) for one in ("*fp16:16", "i32:1", " i32", "kernel", 4)]
    assert found == [TypeName("*fp16", "D"), 1, TypeName("i32", ""), "kernel", 4]


def test_an_interrupt_ends_it():
    kept = signal.signal(signal.SIGINT, signal.default_int_handler)
    timer = threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    began = time.monotonic()
    try:
        with pytest.raises(KeyboardInterrupt):
            launch(waits_for_ever)
    finally:
        signal.signal(signal.SIGINT, kept)
        timer.join()
    assert time.monotonic() - began < 10


def test_an_interrupted_cell_is_not_lowered_from_what_it_launched_before():
    from IPython.core.interactiveshell import InteractiveShell

    shell = InteractiveShell()
    shell.user_ns.update(add_kernel=add_kernel)
    cell = "x = __import__('torch').rand(64)\nadd_kernel[(1,)](x, x, x, 64, BLOCK=64)\nraise KeyboardInterrupt"
    with pytest.raises(KeyboardInterrupt):
        frontend.run_cell(shell, cell, "sm_90")


@pytest.mark.parametrize(
    ("kernel", "message", "number"),
    [
        (fails_in_python, "integer division or modulo by zero", 1),
        (not_valid, "number of input elements 64 must be a multiple of the op's packed_element attribute, 3", 3),
        (calls_itself, "calls_itself calls itself, perhaps through others; Triton's functions cannot be", 1),
        (one_of_two, "other_of_two calls itself, perhaps through others; Triton's functions cannot be", 1),
        (calls_what_names_a_function, "Unsupported function referenced: <function dedent", 2),
        (reads_a_tensor, "Cannot access global variable TABLE", 1),
    ],
)
def test_what_it_refuses_is_told_with_the_users_line_and_the_cause(kernel, message, number, capsys):
    with pytest.raises(PassError) as caught:
        launch(kernel)
    assert str(caught.value).startswith(f"{kernel.__name__} does not compile: ")
    assert message in str(caught.value)
    place = caught.value.diagnostics[0].location
    while place.caller:
        place = place.caller
    assert (place.file, place.line) == (FILE, line_of(kernel, number))
    assert capsys.readouterr().out == ("before it\n" if kernel is not_valid else "")


def test_an_error_in_the_users_own_python_keeps_its_line():
    with pytest.raises(PassError, match="has_no_name does not compile: ValueError: no name") as caught:
        launch(has_no_name)
    line = fails_to_name.__code__.co_firstlineno + 1
    assert caught.value.diagnostics[0].location in (None, Location(FILE, line))
    assert f"  at {FILE}:{line}" in str(caught.value)


def test_a_cell_may_catch_tritons_own_errors():
    def cell():
        x = torch.rand(64, device="cuda")
        with pytest.raises(triton.CompilationError) as caught:
            fails_in_python[(1,)](x)
        assert "tl.store(x_ptr, fails(1))" in str(caught.value)
        assert isinstance(caught.value.__cause__, triton.CompilationError | ZeroDivisionError)
        words = "CompilationError: fails_in_python does not compile: integer division or modulo by zero\n"
        assert told(caught.value).startswith(words)
        add_kernel[(1,)](x, x, x, 64, BLOCK=64)

    assert len(frontend.capture(cell, "sm_90")) == 1


# --- names of loop variables, which the text that crosses to the worker does not have


@triton.jit
def loops(x_ptr, n, BLOCK: tl.constexpr):
    total = tl.zeros([BLOCK], tl.float32)
    for start in range(0, n, BLOCK):
        total += tl.load(x_ptr + start + tl.arange(0, BLOCK))
    count = 0
    while count < n:
        count += 1
        total += tl.sum(total)
    tl.store(x_ptr + tl.arange(0, BLOCK), total)


def test_loop_variables_keep_their_names_to_the_last_module():
    (one,) = frontend.capture(lambda: loops[(1,)](torch.rand(640, device="cuda"), 640, BLOCK=64), "sm_90")
    for to in ("triton_ir", "triton_gpu_ir"):  # the second starts from where the first ended
        text = frontend.lower(one, to=to).dumps[-1].text
        assert "scf.for %start = " in text
        assert "iter_args(%total_" in text
        assert "scf.while (%total_" in text
        assert ", %count_" in text
        assert "%arg" not in text


def test_names_cross_as_they_are_whatever_is_in_them():
    """Locations are strings that MLIR escapes: quotes, backslashes, bytes that are no ASCII."""
    names = ["caf\\C3\\A9", "quo\\22te", "back\\\\slash"]
    place = '"/a \\22b\\22.py":3:4'
    text = """module {
  tt.func @f(%x: i32, %n: i32) -> i32 {
    %r = scf.for %i = %x to %n step %x iter_args(%a = %x) -> (i32) : i32 {
      scf.yield %a : i32
    }
    tt.return %r : i32
  }
}
"""
    given = tuple((1, index, f'loc("{name}"({place}))') for index, name in enumerate(names[:2]))
    state = triton_state.TritonState("mlir", text, given)
    module = triton_state.parse(state, load_all_dialects)
    again = triton_state.TritonState("mlir", module=module)
    again.raw()
    assert [one for one in again.arguments if one[0] == 1 and one[2] != "loc(unknown)"] == list(given)
