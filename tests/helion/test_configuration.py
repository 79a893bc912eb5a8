"""Which configuration a kernel is lowered with, where that is said, and what of it is in the MLIR."""

from __future__ import annotations

from typing import Any

import helion
import helion.language as hl
import pytest
import torch

import irwidget
from irwidget.errors import ExportError, UsageError
from irwidget.helion import lower_kernel

X = torch.randn(37, 21)


@helion.kernel(
    configs=[
        helion.Config(block_sizes=[16, 8], num_warps=8),
        helion.Config(block_sizes=[8, 4], loop_orders=[[1, 0]], l2_groupings=[2], pid_type="persistent_interleaved"),
    ]
)
def shifted(x: torch.Tensor) -> torch.Tensor:
    out = torch.empty_like(x)
    for rows, columns in hl.tile(x.size()):
        out[rows, columns] = x[rows, columns] + 1
    return out


@helion.kernel()
def counted(x: torch.Tensor) -> torch.Tensor:
    """How often each element is reached: once, however the tiles are given to programs."""
    out = torch.zeros_like(x)
    for a, b, c in hl.tile(x.size()):
        hl.atomic_add(out, [a, b, c], x[a, b, c])
    return out


@helion.kernel()
def summed(x: torch.Tensor) -> torch.Tensor:
    out = torch.empty([x.size(0)], dtype=x.dtype)
    for rows in hl.tile(x.size(0)):
        acc = hl.zeros([rows], dtype=torch.float32)
        for a, b in hl.tile([x.size(1), x.size(2)]):
            acc = acc + x[rows, a, b].sum(-1).sum(-1)
        out[rows] = acc
    return out


@pytest.mark.parametrize(
    ("given", "origin", "sizes"),
    [
        (None, "the decorator's, the first of its 2 (0 to 1)", (16, 8)),
        ("1", "number 1 of the decorator's 2", (8, 4)),
        (0, "number 0 of the decorator's 2", (16, 8)),
        ({"block_sizes": [4, 32]}, "as given", (4, 32)),
        (helion.Config(block_sizes=[2, 2]), "as given", (2, 2)),
        ("num_warps=2", "as given", (32, 32)),
        ("block_sizes=[32, 2], num_warps=2", "as given", (32, 2)),
        ({"block_size": [4, 2]}, "as given", (4, 2)),
        ("helion.Config(block_sizes=[32, 2])", "as given", (32, 2)),
        ("block_size=[8, 8], maxnreg=None, range_flattens=[False]", "as given", (8, 8)),
        ({"block_sizes": [8, 8], "loop_order": [1, 0], "load_eviction_policies": ["evict_first"]}, "as given", (8, 8)),
        ("block_size=[8, 8], num_sm_multiplier=1", "as given, but Helion makes of it: num_sm_multiplier None", (8, 8)),
    ],
)
def test_a_configuration_is_taken_and_named(given: Any, origin: str, sizes: tuple[int, int]):
    facts = irwidget.lower(shifted, X, to="helion_device_ir", config=given).trace.facts
    assert facts["configuration"] == origin
    assert (facts["block_size_0"], facts["block_size_1"]) == sizes


def test_without_one_it_is_helions_default_and_says_so():
    low = irwidget.lower(counted, torch.ones(3, 4, 5), to="helion_device_ir")
    assert low.trace.facts["configuration"] == "Helion's default"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("7", "has no configuration 7. It has:\n  0: "),
        ("block_sise=[4, 4]", "has no field 'block_sise'. Did you mean block_sizes"),
        ("quick", "not 'quick'"),
        ({"block_sizes": [4]}, "expected 2 block sizes"),
        (3.5, "is a helion.Config or a dict, not 3.5"),
        ("num_warp=4", "has no field 'num_warp'. Did you mean num_warps"),
        ({"num_warps": 3}, "shifted: num_warps must be a power of two from 1 to 32, not 3"),
        ({"num_warps": 64, "num_stages": -1}, "not 64; num_stages must be an integer of 0 or more, not -1"),
        ({"num_warps": True}, "not True"),
        ({"num_stages": "2"}, "not '2'"),
        ({"indexing": "block_pointer"}, "indexing has no 'block_pointer'. Did you mean block_ptr or pointer?"),
        ({"indexing": ["pointer", 3]}, "indexing has no 3. Known: pointer, tensor_descriptor, block_ptr"),
        ({"indexing": ["pointer"]}, "indexing has 1 of 2 entries: one for each load and store, or a text for all"),
        ({"load_eviction_policies": ["frist"]}, "load_eviction_policies has no 'frist'. Did you mean first?"),
        ({"range_warp_specializes": [True]}, "expected 0, got 1 (Helion has it for NVIDIA's GPUs from"),
    ],
)
def test_what_does_not_fit_is_refused_in_words(given: Any, said: str):
    with pytest.raises(UsageError) as raised:
        lower_kernel(shifted, (X,), config=given)
    assert said in str(raised.value)


def test_module_nodes_and_fallback_show_it():
    low = irwidget.lower(shifted, X, to="helion_mlir", config=1)
    assert 'helion.config = {block_sizes = [8, 4], indexing = ["pointer", "pointer"], l2_groupings = [2]' in low.text
    texts = {node.name.rpartition(".")[2]: node.text for node in low.trace.nodes}
    assert texts["load"] == "load = load(x, [block_size_0, block_size_1])  # float32[8, 4]"
    assert texts["block_size_1"].endswith("  # 4")
    assert "persistent_interleaved" in low.to_html()
    assert low.results["kernel"].verify() is None


def test_the_loop_order_is_that_of_the_dims():
    text = lower_kernel(shifted, (X,), config={"block_sizes": [16, 8], "loop_orders": [[1, 0]]}).mlir
    assert "= (0, 0) to (21, 37) step (8, 16)" in text
    plain = lower_kernel(summed, (torch.ones(4, 6, 10),), config={"block_sizes": [4, 2, 4]}).mlir
    turned = lower_kernel(
        summed, (torch.ones(4, 6, 10),), config={"block_sizes": [4, 2, 4], "loop_orders": [[1, 0]]}
    ).mlir
    ends = [
        [line.split(" to ")[1].split(" ")[0] for line in t.splitlines() if "scf.for %" in line] for t in (plain, turned)
    ]
    assert ends == [["%c6", "%c10"], ["%c10", "%c6"]]


@pytest.mark.parametrize("kind", ["persistent_interleaved", "persistent_blocked"])
@pytest.mark.parametrize("order", [[0, 1, 2], [2, 0, 1]])
def test_persistent_programs_reach_every_tile_once(kind: str, order: list[int]):
    config = {"block_sizes": [2, 1, 4], "loop_orders": [order], "l2_groupings": [4], "pid_type": kind}
    x = torch.ones(9, 11, 19)  # of no dim do the groups divide the tiles
    lowering = lower_kernel(counted, (x,), config=config)
    assert torch.equal(lowering.run(x, opt_level=0, check_bounds=True), x)
    assert "scf.forall (%blk_arg0) in (132)" in lowering.mlir


def test_the_limit_of_registers_reaches_triton_where_it_has_one():
    """Helion takes it out where there is no CUDA: here, where a kernel for it is made all the same."""
    config = {"block_sizes": [8, 8], "pid_type": "persistent_blocked", "maxnreg": 32}
    both = irwidget.lower(shifted, X, to=["helion_triton", "triton_nvptx"], config=config)
    assert "maxnreg=32" in both["helion_triton"].text
    assert ".maxnreg 32" in both["triton_nvptx"].text
    (mine, other), shown = (low.trace.facts for low in both.values()), ("configuration", "block_sizes", "maxnreg")
    assert [other[name] for name in shown] == [mine[name] for name in shown] == ["as given", "[8, 8]", 32]
    assert irwidget.lower(shifted, X, to="triton_ir", config=config, arch="gfx942").text


@helion.kernel()
def up_to(x: torch.Tensor, end: torch.Tensor) -> torch.Tensor:
    out = torch.zeros_like(x)
    for tile in hl.tile(end, block_size=8):
        out[tile] = x[tile] + 1
    return out


def test_a_loop_ends_where_a_tensor_says():
    x = torch.randn(40)
    low = lower_kernel(up_to, (x, torch.tensor(3)), config={"pid_type": "persistent_blocked"}, dumps=False)
    for end in (3, 0, 40, 17):
        want = torch.cat([x[:end] + 1, torch.zeros(40 - end)])
        assert torch.equal(low.run(x, torch.tensor(end), opt_level=0, check_bounds=True), want)


def test_what_helion_generates_and_cannot_run_is_an_error_of_ours():
    """The host would have to know how many programs there are; Helion has it ask on the device."""
    low = lower_kernel(up_to, (torch.randn(40), torch.tensor(3)), config={"pid_type": "flat"}, dumps=False)
    with pytest.raises(ExportError, match="host function that Helion generates for up_to .* does not run: ValueError"):
        low.run()


@helion.kernel()
def every(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """A loop inside the top-level loop, a reduction, a matmul, an atomic: what fields speak of."""
    out = torch.zeros([x.size(0), y.size(1)], dtype=x.dtype)
    for rows, columns in hl.tile([x.size(0), y.size(1)]):
        acc = hl.zeros([rows, columns], dtype=torch.float32)
        for inner in hl.tile(x.size(1)):
            acc = torch.addmm(acc, x[rows, inner], y[inner, columns])
        hl.atomic_add(out, [rows, columns], acc - x[rows, :].sum(-1)[:, None])
    return out


def _another(name: str, value: Any) -> Any:
    """Another value than a field's default, of its kind."""
    known = {
        "pid_type": "persistent_interleaved", "indexing": "block_ptr", "atomic_indexing": "tensor_descriptor",
        "loop_orders": [1, 0], "load_eviction_policies": "last", "load_cache_modifiers": ".cg",
        "store_cache_modifiers": ".cs",
    }  # fmt: skip
    if isinstance(value, list):
        return [known.get(name, _another(name, value[0])), *value[1:]] if value else value
    if name in known:
        return known[name]
    return not value if isinstance(value, bool) else True if value is None else (value or 1) * 2


def test_no_field_of_a_configuration_is_lost():
    """Each field that Helion has for a kernel, changed: the module and the facts say it, or it is refused."""
    arguments = (torch.randn(20, 24), torch.randn(24, 12))
    plain = lower_kernel(every, arguments, dumps=False)
    default = dict(plain.binding.config.config)
    said: set[str] = set()
    for name, value in default.items():
        wanted = _another(name, value)
        if wanted == value:
            continue
        config = {**default, "num_sm_multiplier": 1, "pid_type": "persistent_blocked", name: wanted}
        try:
            low = lower_kernel(every, arguments, config=config, dumps=False)
        except UsageError:  # Helion has another form for it
            continue
        taken = low.binding.config.config[name]
        if taken == value:
            continue  # Helion itself sets it back, and what is shown is what holds
        said.add(name)
        assert low.trace.facts[name] == (taken if isinstance(taken, (int, str)) else str(taken)), name
        attribute = str(low.module.attributes["helion.config"])
        assert f"{name} = " in attribute, name
        assert attribute != str(plain.module.attributes["helion.config"]), name
    assert {"block_sizes", "loop_orders", "l2_groupings", "num_warps", "num_stages", "indexing", "pid_type"} <= said
    assert {"range_unroll_factors", "range_num_stages", "reduction_loops"} <= said


@helion.kernel()
def of_two_loops(x: torch.Tensor) -> list[torch.Tensor]:
    once, twice = torch.empty_like(x), torch.empty_like(x)
    for rows, columns in hl.tile(x.size()):
        once[rows, columns] = x[rows, columns] + 1
    for rows, columns in hl.tile(x.size()):
        twice[rows, columns] = x[rows, columns] + 2
    return [once, twice]


@helion.kernel()
def of_two_phases(x: torch.Tensor) -> list[torch.Tensor]:
    once, twice = torch.empty_like(x), torch.empty_like(x)
    for rows, columns in hl.tile(x.size()):
        once[rows, columns] = x[rows, columns] + 1
    hl.barrier()
    for rows, columns in hl.tile(x.size()):
        twice[rows, columns] = once[rows, columns] + 1
    return [once, twice]


@pytest.mark.parametrize(
    ("kernel", "kind", "said"),
    [
        (of_two_loops, "xyz", "pid_type='xyz' is for one top-level loop: of several, Helion's Triton would leave out"),
        (of_two_phases, "flat", "hl.barrier() needs pid_type='persistent_blocked', not 'flat'"),
        (of_two_phases, "persistent_interleaved", "not 'persistent_interleaved'"),
        (summed, "xyz", "pid_type='xyz' is for top-level loops of two or three dims"),
    ],
)
def test_programs_of_which_helion_generates_none_or_wrong_ones_are_refused(kernel: Any, kind: str, said: str):
    x = torch.ones(4, 4, 4) if kernel is summed else torch.ones(4, 4)
    with pytest.raises(UsageError) as raised:
        irwidget.lower(kernel, x, to="helion_device_ir", config={"pid_type": kind})
    assert f"The configuration does not fit {kernel.fn.__name__}: " in str(raised.value)
    assert said in str(raised.value)
    if kernel is not summed:  # what is left is taken
        irwidget.lower(kernel, x, to="helion_device_ir", config={"pid_type": "persistent_blocked"})
