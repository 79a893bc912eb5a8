"""Results that have the memory of inputs, and inputs that share theirs."""

import pytest
import torch

import irwidget.spyre as spyre
from irwidget.errors import UsageError

ROWS = torch.randn(65, 128).half()


def whole(*values):
    return torch.cat([one.flatten() for one in values])


def places(results, inputs):
    """Of each result the inputs with its memory, and how many bytes it begins behind them."""
    return [
        [one.data_ptr() - t.data_ptr() if one.untyped_storage().data_ptr() == t.untyped_storage().data_ptr() else None]
        for one in results
        for t in inputs
    ]


@pytest.mark.parametrize(
    "function",
    [
        lambda a, b: (a[3:].t(), a.t().reshape(-1), a.clone(), a + 0),
        lambda a, b: (a.mul_(2), a[1], b),
        lambda a, b: (a.copy_(b), b.view(-1)[64:]),
        lambda a, b: (a[:, :64].add_(b[:, 64:]), a[2:].expand(2, 63, 128)),
    ],
)
def test_results_have_the_memory_of_inputs_where_eagers_do(function):
    want, got = [ROWS.clone(), ROWS + 1], [ROWS.clone(), ROWS + 1]
    results = function(*want)
    made = spyre.compile(function, got).run(*got)
    assert places(made, got) == places(results, want)
    assert torch.equal(whole(*made, *got), whole(*results, *want))


def test_an_input_of_other_strides_is_read_and_not_returned():
    program = spyre.compile(lambda a: (a.view(-1), a * 2), [ROWS])
    given = ROWS.t().contiguous().t()
    flat, twice = program.run(given)
    assert torch.equal(flat, ROWS.view(-1))
    assert torch.equal(twice, ROWS * 2)


@pytest.mark.parametrize(
    ("first", "second", "why"),
    [
        (ROWS[1:], ROWS[:-1], r"f writes into arg0_1, which shares memory with arg1_1"),
        (ROWS[:64], ROWS.view(torch.int16)[1:], r"f writes into arg0_1, which shares memory with arg1_1"),
        (ROWS[:1].expand(64, 128), ROWS[:64], r"f writes into arg0_1, several of whose elements are one in memory"),
    ],
)
def test_what_is_written_lies_alone(first, second, why):
    def f(a, b):
        return a.add_(b)

    program = spyre.compile(f, [ROWS[:64] + 1, second])
    with pytest.raises(UsageError, match=why):
        program.run(first, second)
    halves = ROWS.clone()[:64].view(128, 64).chunk(2, 1)
    whole_rows = spyre.compile(f, [halves[0], halves[1]])
    want = halves[0] + halves[1]
    assert torch.allclose(whole_rows.run(*halves), want, atol=0.01)


@pytest.mark.parametrize("of", [lambda x: (x[1:], x[:-1]), lambda x: (x[:64, :64], x[:64, :64].t())])
def test_the_backend_writes_into_inputs_that_share_memory(of):
    def written(a, b):
        a.add_(1)
        return a + b

    want, got = ROWS.clone(), ROWS.clone()
    torch._dynamo.reset()
    made = torch.compile(written, backend="irwidget_spyre")(*of(got))
    assert torch.allclose(made, written(*of(want)), atol=0.02)
    assert torch.equal(got, want)


def test_a_view_that_leaves_a_graph_is_one_of_its_input():
    def broken(x):
        row = x[0]
        torch._dynamo.graph_break()
        return row.add_(1)

    want, got = ROWS.clone(), ROWS.clone()
    torch._dynamo.reset()
    torch.compile(broken, backend="irwidget_spyre")(got)
    broken(want)
    assert torch.equal(got, want)
