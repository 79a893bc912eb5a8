"""What is wrong is said in words: arguments, accesses, IR that does not verify."""

from __future__ import annotations

from typing import Any

import helion
import helion.language as hl
import pytest
import torch

from irwidget.errors import ExportError, ToolError, UnsupportedError, UsageError
from irwidget.helion import decompositions, lower, lower_kernel
from irwidget.helion.binding import check_arguments
from irwidget.helion.bindings import ir
from irwidget.helion.handlers import _handlers
from irwidget.private_torch import FakeTensorMode
from irwidget.trace import Location
from tests.helion import kernels_idioms as idioms
from tests.helion import kernels_matmul as mm
from tests.helion import kernels_pointwise as pw

X, Y = torch.randn(20, 30), torch.randn(30, 12)
total = 3  # also a local name of a kernel below


@helion.kernel(config=helion.Config(block_sizes=[4]))
def past_the_end(x: torch.Tensor, first: torch.Tensor) -> torch.Tensor:
    out = torch.empty_like(x)
    for rows in hl.tile(x.size(0)):
        out[rows] = x[rows] + first[rows.begin]
    return out


@helion.kernel()
def shadowed(x: torch.Tensor) -> torch.Tensor:
    total = torch.empty_like(x)  # noqa: F841
    for rows in hl.tile(x.size(0)):
        unknown_name(x[rows])  # noqa: F821  # pyright: ignore
    return x


@helion.kernel(config=helion.Config(block_sizes=[8]))
def constants(
    xs: list[torch.Tensor], how: str, by: hl.constexpr, added: int, factor: float, f: Any, last: torch.Tensor | None
) -> torch.Tensor:
    out = torch.empty_like(xs[0])
    for tile in hl.tile(out.size(0)):
        value = f(xs[0][tile] * factor + xs[1][tile] + added) * by
        if how == "negated":
            value = -value
        if last is not None:
            value = value + last[tile]
        out[tile] = value
    return out


def test_what_a_module_has_as_constants_may_not_be_others():
    x, wide = torch.ones(8), torch.ones(8, dtype=torch.float64)
    given = ([x, x], "negated", 2, 3, 0.5, torch.sin, None)
    lowering = lower_kernel(constants, given, dumps=False)
    others = {
        "a list of 2 as xs, not a list of 1": ([x],),
        "not (8,) torch.float64 for xs[1]": ([x, wide],),
        "not (9,) torch.float32 for xs[0]": ([torch.ones(9), x],),
        "'negated' (str) as how, not 'other' (str)": ([x, x], "other"),
        "2 (int) as by, not 4 (int)": ([x, x], "negated", 4),
        "3 (int) as added, not 2.5 (float)": ([x, x], "negated", 2, 2.5),
        "takes a number as factor, not 'a' (str)": ([x, x], "negated", 2, 3, "a"),
        "takes a number as factor, not None": ([x, x], "negated", 2, 3, None),
        "not <built-in method cos": ([x, x], "negated", 2, 3, 0.5, torch.cos),
        "None (NoneType) as last, not a tensor of shape (8,)": (*given[:-1], x),
    }
    for said, changed in others.items():
        with pytest.raises(UsageError) as raised:
            lowering.run(*changed, *given[len(changed) :])
        assert said in str(raised.value)
    check_arguments(constants, ([x, x], "negated", 2, 3, hl.constexpr(0.5), torch.sin, None))
    found = lowering.run([x, x * 2], "negated", 2, 5, 0.25, torch.sin, None, opt_level=0)
    torch.testing.assert_close(found, -torch.sin(x * 7.25) * 2)


def test_a_function_is_the_one_that_it_was_made_for_by_what_it_computes():
    def scaled(by: float, added: float = 1.0) -> Any:
        return lambda a, b=added: a * by + b

    x = torch.ones(8)
    lowering = lower_kernel(idioms.template_via_closure, (scaled(2.0), (x,)), dumps=False)
    torch.testing.assert_close(lowering.run(scaled(2.0), (x,), opt_level=0), x * 3)
    for other in (scaled(3.0), scaled(2.0, 2.0), lambda a: a):
        with pytest.raises(UsageError, match="as op, not <function"):
            lowering.run(other, (x,))


def test_arguments_that_are_no_tuple_swapped_or_too_few():
    lowering = lower_kernel(mm.matmul, (X, Y))
    nested = torch.nested.nested_tensor([X, X[:3]], layout=torch.jagged)
    attempts = {
        "arguments are one tuple": lambda: lower_kernel(mm.matmul, X, Y),
        "a tuple of 2 is not a Helion kernel. The kernel comes first": lambda: lower_kernel((X, Y), mm.matmul),
        "matmul are one tuple": lambda: lower_kernel(mm.matmul, X),
        "missing a required argument: 'y'": lambda: lower_kernel(mm.matmul, (X,)),
        "x, y) takes a tensor as y, not 3 (int)": lambda: lower_kernel(mm.matmul, (X, 3)),
        "lowered for (20, 30) torch.float32, not (30, 12) torch.float32 for x.": lambda: lowering.run(Y, X),
        "does not take these 1 arguments: missing a required argument: 'y'.": lambda: lowering.run(X),
        "'y'. They are in a tuple of their own: leave that out.": lambda: lowering.run((X, Y)),
        "'y'. They are in a list of their own: leave that out.": lambda: lower_kernel(mm.matmul, ([X, Y],)),
        "takes a dense tensor as x, not one of layout sparse_coo": lambda: lowering.run(X.to_sparse(), Y),
        "as x, not a nested one.": lambda: lower_kernel(mm.matmul, (nested, Y)),
        "as y, not a view that is yet to be negated": lambda: lowering.run(X, torch.complex(Y, Y).conj().imag),
        "as y, not a view that is yet to be conjugated": lambda: lowering.run(X, torch.complex(Y, Y).conj()),
        "takes a tensor as y, not an object of type ndarray.": lambda: lower_kernel(mm.matmul, (X, Y.numpy())),
        "these are meta tensors": lambda: lowering.run(X.to("meta"), Y.to("meta")),
        "these are fake tensors": lambda: lowering.run(*map(FakeTensorMode().from_tensor, (X, Y))),
    }
    for said, attempt in attempts.items():
        with pytest.raises(UsageError) as raised:
            attempt()
        assert said in str(raised.value)


@helion.kernel(config=helion.Config(block_sizes=[4]))
def picked(x: torch.Tensor, places: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    out = torch.empty([places.size(0)])
    for rows in hl.tile(places.size(0)):
        out[places[rows]] = x[rows] + bias[rows]
    return out


@pytest.mark.parametrize("static", [True, False])
def test_what_reaches_outside_of_its_buffer_ends_a_run_and_is_said_before(static: bool):
    kernel = helion.kernel(picked.fn, config=picked.configs[0], static_shapes=static)
    x, places, bias = torch.arange(7.0), torch.tensor([4, 0, 1, 3, 2, 6, 5]), torch.ones(7)
    fits = lower_kernel(kernel, (x, places, bias), dumps=False)
    assert fits.diagnostics == ()
    assert torch.equal(fits.run(opt_level=0)[places], x + 1)
    short = lower_kernel(kernel, (x, places, bias[:6]), dumps=False)
    (said,) = short.diagnostics
    assert (said.severity, said.message) == ("warning", "dim 0 of bias is of 6, and this goes on to 7, past its end")
    with pytest.raises(ToolError, match="node root_graph_0.load_1 reaches outside of a buffer"):
        short.run(opt_level=0)
    (said,) = lower_kernel(kernel, (x, places, torch.ones(9)), dumps=False).diagnostics
    assert said.message == "of dim 0 of bias, of 9, the kernel takes the first 7: its loops end there"


@helion.kernel(config=helion.Config(block_sizes=[4]))
def warned(x: torch.Tensor) -> torch.Tensor:
    wide = torch.sin(x)
    out = torch.empty_like(x)
    for rows in hl.tile(x.size(0)):
        out[rows] = wide[rows] + 1
    return out


def test_what_helion_warns_of_is_kept_and_not_printed(capfd: pytest.CaptureFixture[str]):
    x = torch.randn(6)
    lowering = lower_kernel(warned, (x,), dumps=False)
    triton = lower(warned, (x,), "helion_triton")
    torch.testing.assert_close(lowering.run(opt_level=0), x.sin() + 1)
    for (said,) in (lowering.diagnostics, triton.diagnostics):
        assert said.severity == "warning"
        assert said.message.startswith("TensorOperationInWrapper: A tensor operation")
        assert said.location == Location(__file__, warned.fn.__code__.co_firstlineno + 2)
    with pytest.raises(ExportError, match=r"IndexError[^$]*Before, Helion warned: TensorOperationInWrapper"):
        lower_kernel(warned, (x.sum(),))
    assert "WARNING" not in "".join(capfd.readouterr())


def test_a_position_outside_of_its_buffer_ends_a_run():
    x, first = torch.ones(8), torch.ones(2)
    lowering = lower_kernel(past_the_end, (x, first))
    with pytest.raises(ToolError, match="outside of a buffer"):
        lowering.run(opt_level=0)


def test_ir_that_does_not_verify_names_the_node(monkeypatch: pytest.MonkeyPatch):
    def wrong(emitter, node):  # type: ignore[no-untyped-def]
        value = emitter.tensor(node.args[0])
        other = emitter.builder.tensor_type([3], value.type.element_type)
        ir.Operation.create("math.exp", [other], [value])
        return value

    monkeypatch.setitem(_handlers, "aten.exp.default", wrong)
    with pytest.raises(UnsupportedError) as raised:
        lower_kernel(pw.exp_forward, (torch.randn(40),))
    assert "aten.exp.default (node" in str(raised.value)
    assert "is refused: 'math.exp' op" in str(raised.value)


def test_globals_are_blamed_only_where_the_error_speaks_of_them():
    with pytest.raises(ExportError) as raised:
        lower_kernel(shadowed, (X,))
    assert "globals" not in str(raised.value)
    assert len(str(raised.value).splitlines()) <= 10


@helion.kernel(config=helion.Config(block_sizes=[8]))
def bytes_less_one(x: torch.Tensor) -> torch.Tensor:
    out = torch.empty_like(x)
    for rows in hl.tile(x.size(0)):
        twice = x[rows] * 2
        out[rows] = twice - 1
    return out


def test_a_crash_of_a_pass_names_the_node(monkeypatch: pytest.MonkeyPatch):
    """Torch-mlir ends over a number that is subtracted from bytes, were it not for a rule."""
    monkeypatch.delitem(decompositions._table, torch.ops.aten.sub.Tensor)  # pyright: ignore[reportPrivateUsage]
    line = bytes_less_one.fn.__code__.co_firstlineno + 5
    with pytest.raises(
        ToolError, match=rf"{line}: aten.sub.Tensor \(node [\w.]*sub\) does not lower to linalg.* crashed"
    ):
        lower_kernel(bytes_less_one, (torch.zeros(19, dtype=torch.int8),), dumps=False)


@helion.kernel(config=helion.Config(block_sizes=[8]))
def powers(x: torch.Tensor) -> torch.Tensor:
    out = torch.empty_like(x)
    for rows in hl.tile(x.size(0)):
        out[rows] = x[rows] ** x[rows]
    return out


def test_what_helion_generates_no_triton_of_is_told_in_a_few_lines():
    line = powers.fn.__code__.co_firstlineno + 4
    with pytest.raises(ExportError) as raised:
        lower(powers, (torch.ones(19),), "helion_triton")
    first, *others = str(raised.value).splitlines()
    assert first.startswith(f"{__file__}:{line}: Helion cannot generate code for powers with this configuration")
    assert first.endswith("(aten.pow.Tensor_Tensor): AssertionError")
    assert len(others) == 4
    assert "tlparse" not in str(raised.value)
