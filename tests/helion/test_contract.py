"""What Helion's private names must do: where a new release of Helion breaks us, it breaks here, name by name.

Each test is a name of `irwidget.helion.private`, or what a bound kernel holds that handlers read.
"""

from __future__ import annotations

import inspect
import operator
import random
from typing import Any

import helion
import helion.language as hl
import pytest
import torch

from irwidget.errors import UnsupportedError
from irwidget.helion import eager_mode, private
from tests.helion import kernels_matmul as mm
from tests.helion import kernels_pointwise as pw
from tests.helion.cases import CASES

ARGUMENTS = (torch.empty(100, 70), torch.empty(70, 90))


@helion.kernel(static_shapes=True)
def doubled(x: torch.Tensor, shift: int = 3) -> torch.Tensor:
    out = torch.empty_like(x)
    for rows, columns in hl.tile([shift, 0], [x.size(0), x.size(1)]):
        tile = x[rows, columns]
        out[rows, columns] = tile * tile
    return out


@helion.kernel(static_shapes=True)
def total(x: torch.Tensor) -> torch.Tensor:
    out = torch.empty_like(x[:, 0])
    for rows in hl.tile(x.size(0)):
        tile = x[rows, :]
        out[rows] = (tile * tile).sum(-1)
    return out


@pytest.fixture(scope="module")
def bound() -> Any:
    with private.saved_arguments(), private.pretended_gpu():
        return private.bind(private.copied_kernel(mm.matmul), ARGUMENTS)[1]


@pytest.fixture(scope="module")
def config(bound: Any) -> Any:
    return bound.config_spec.default_config()


def nodes(bound: Any) -> list[Any]:
    return [node for info in bound.host_function.device_ir.graphs for node in info.graph.nodes]


# --- modules and classes ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("module", "names"),
    [
        ("runtime", ["get_num_sm"]),
        ("runtime.kernel", ["Kernel", "BoundKernel"]),
        ("runtime.config", ["Config"]),
        ("runtime.ref_mode", ["RefMode"]),
        ("language.ref_tile", ["RefTile"]),
        ("_compiler.inductor_lowering", ["prepare_node_lowering"]),
        (
            "_compiler.variable_origin",
            ["BlockSizeOrigin", "GridOrigin", "TensorSizeOrigin", "TileBeginOrigin", "TileEndOrigin", "TileIdOrigin"],
        ),
    ],
)
def test_modules_have_the_names(module: str, names: list[str]):
    assert [name for name in names if not hasattr(private.module(module), name)] == []


def test_a_decorated_function_is_a_kernel_with_its_function_settings_and_configs():
    assert isinstance(mm.matmul, private.kernel_type())
    assert mm.matmul.fn.__name__ == "matmul"
    copy = private.copied_kernel(mm.matmul)
    assert copy is not mm.matmul
    assert copy.fn is mm.matmul.fn
    assert copy.settings.static_shapes == mm.matmul.settings.static_shapes


def test_another_helion_gets_the_settings_that_the_user_made():
    make, (function, configs, key, settings) = private.carried(doubled)
    assert settings == {}, "the user made none; a seed is another each time"
    assert private.carried(helion.kernel(doubled.fn, static_shapes=False))[1][3] == {"static_shapes": False}
    with pytest.raises(UnsupportedError, match="no setting of_tomorrow, which doubled has"):
        make(function, configs, key, {**settings, "of_tomorrow": 1})


def test_a_bound_kernel_counts_as_a_kernel(bound: Any):
    assert private.is_kernel(bound)


def test_the_eager_mode_is_a_setting():
    assert hasattr(mm.matmul.settings, "ref_mode")
    assert mm.matmul.settings.ref_mode != private.eager_mode()


def test_prepare_node_lowering_takes_a_graph_and_a_node():
    function = private.module("_compiler.inductor_lowering").prepare_node_lowering
    assert len(inspect.signature(function).parameters) == 2


# --- binding ------------------------------------------------------------------------------


def test_binding_fills_in_defaults_and_leaves_the_kernels_caches_alone():
    copy = private.copied_kernel(doubled)
    arguments, bound = private.bind(copy, (torch.empty(32, 16),))
    assert arguments[1] == 3
    assert private.is_kernel(bound)
    assert not copy._bound_kernels


def test_arguments_are_saved_before_helion_destroys_them():
    """If this is no longer so, `saved_arguments` and the restoring in `aten.py` can go."""
    with private.saved_arguments():
        bound = private.bind(private.copied_kernel(doubled), (torch.empty(32, 16),))[1]
    (node,) = [node for node in nodes(bound) if private.target_name(node.target) == "aten.mul.Tensor"]
    (left, right), _ = node.meta[private.SAVED_ARGUMENTS]
    assert left is not None
    assert right is not None
    assert node.args[1] is None
    assert private.node_text(node).startswith("mul = aten.mul.Tensor(tile, tile)")


def test_a_bound_kernel_has_an_environment_a_host_function_and_fake_arguments(bound: Any):
    assert [tuple(fake.shape) for fake in bound.fake_args] == [(100, 70), (70, 90)]
    with bound.env, bound.host_function:
        assert bound.env.settings.static_shapes


def test_a_configuration_can_be_normalized(bound: Any, config: Any):
    assert isinstance(config, private.config_type())
    fields = {**dict(config.config), "pid_type": "persistent_blocked", "maxnreg": 64, "num_warps": 32}
    taken = private.config_type()(**fields)
    private.normalize(bound.config_spec, taken)
    assert taken.config["maxnreg"] == 64
    with pytest.raises(private.module("exc").InvalidConfig, match="exceeds register budget"):
        private.normalize(bound.config_spec, private.config_type()(**{**fields, "maxnreg": 128}))


def test_the_host_function_hands_its_launches_to_the_launcher(bound: Any, config: Any):
    seen: list[Any] = []

    def launch(kernel: Any, grid: Any, *arguments: Any, **options: Any) -> None:
        seen.append((kernel, grid, arguments))

    with private.pretended_gpu():
        result = private.host_function(bound, config)(*ARGUMENTS, _launcher=launch)
    assert result.shape == (100, 90)
    ((kernel, grid, arguments),) = seen
    assert isinstance(grid, tuple)
    assert len(kernel.arg_names) >= len(arguments) >= 3


def test_the_triton_source_is_text(bound: Any, config: Any):
    assert "@triton.jit" in private.triton_program(bound, config)


def test_generating_code_leaves_what_a_configuration_may_say_as_it_was():
    """Else the same configuration is refused the second time: `Too many values for config['flatten_loops']`."""
    bound = private.bind(private.copied_kernel(pw.add), (torch.empty(32, 16),) * 2)[1]
    config = bound.config_spec.default_config()
    block = bound.host_function.device_ir.grid_block_ids[0][0]
    assert "flatten_loops" in config.config
    with private.generating(bound):
        bound.config_spec.flatten_loops.disable_block_id(block)
    private.normalize(bound.config_spec, private.config_type()(**dict(config.config)))


def test_reduction_loops_are_graphs_of_their_own_with_the_arguments_from_before():
    with private.saved_arguments():
        bound = private.bind(private.copied_kernel(total), (torch.empty(32, 100),))[1]
    config = private.config_type()(block_sizes=[8], reduction_loops=[16])
    unrolled = private.config_type()(block_sizes=[8], reduction_loops=[None])
    with bound.env, bound.host_function:
        graphs = private.rolled_graphs(bound, config)
        assert private.rolled_graphs(bound, unrolled) is None
    assert graphs is not None
    loops = [info.graph for info in graphs if private.is_reduction_loop(info)]
    assert loops
    for loop in loops:
        product = next(node for node in loop.nodes if private.target_name(node.target) == "aten.mul.Tensor")
        (left, right), _ = product.meta[private.SAVED_ARGUMENTS]
        assert left is right
        assert left.graph is loop
        assert {private.reduction_kind(node) for node in loop.nodes} == {"", "sum"}


def test_without_a_gpu_there_is_a_number_of_processors():
    with private.pretended_gpu():
        assert private.module("runtime").get_num_sm(torch.device("cuda"), reserved_sms=0) == private.PROCESSORS


# --- Device IR ---------------------------------------------------------------------------------


def test_device_ir_has_its_graphs_roots_and_blocks(bound: Any):
    device_ir = bound.host_function.device_ir
    assert [len(blocks) for blocks in device_ir.grid_block_ids] == [2]
    assert all(isinstance(device_ir.graphs[root].graph, torch.fx.Graph) for root in device_ir.root_ids)
    loop = next(info for info in device_ir.graphs if getattr(info, "block_ids", None) and info.name.startswith("for"))
    assert len(loop.block_ids) == 1


def test_nodes_know_their_place(bound: Any):
    place = next(node.meta["location"] for node in nodes(bound) if private.target_name(node.target) == "load")
    assert place.filename.endswith("kernels_matmul.py")
    assert place.lineno > 0


def test_a_top_level_loop_knows_its_line_and_its_bounds(bound: Any):
    device_ir = bound.host_function.device_ir
    file, line = private.loop_place(device_ir, 0) or ("", 0)
    assert file.endswith("kernels_matmul.py")
    assert line > mm.matmul.fn.__code__.co_firstlineno
    with bound.env, bound.host_function:
        assert len(private.loop_bounds(device_ir, 0)[0]) == 2


def test_a_loop_with_a_begin_gives_it_first():
    bound = private.bind(private.copied_kernel(doubled), (torch.empty(32, 16),))[1]
    with bound.env, bound.host_function:
        begins, ends = private.loop_bounds(bound.host_function.device_ir, 0)
    assert list(begins)[1] == 0
    assert len(ends) == 2


@pytest.mark.parametrize(
    "name",
    ["load", "store", "_host_tensor", "_for_loop", "_phi", "_new_var", "_get_symnode", "_operator.getitem"],
)
def test_targets_have_these_names(bound: Any, name: str):
    assert name in {private.target_name(node.target) for node in nodes(bound)}


def test_branches_say_what_they_set():
    case = next(case for case in CASES if str(case) == "branches")
    bound = private.bind(private.copied_kernel(case.kernel), tuple(case.inputs()))[1]
    node = next(node for node in nodes(bound) if private.target_name(node.target) == "_if")
    assert len(node.args) >= 5
    graph = bound.host_function.device_ir.graphs[node.args[1]]
    assert all(hasattr(graph, name) for name in ("branches_outputs", "if_arg_names", "else_arg_names"))


# --- symbols --------------------------------------------------------------------------------------


def test_blocks_have_a_size_a_symbol_and_an_origin(bound: Any, config: Any):
    env, host = bound.env, bound.host_function
    origins = private.origins()
    with env, host:
        for info in env.block_sizes:
            assert env.get_block_id(info.var) == info.block_id
            assert private.canonical_block(env, info.block_id) == info.block_id
            assert isinstance(private.origin_of(host, info.symbol()), origins.BlockSizeOrigin)
            assert private.expression_of(info.var) == info.symbol()
            assert env.specialize_expr(info.symbol()) == info.symbol()
            assert private.tunable(env, info.symbol()) is None
            assert private.jagged_parents(env, info.block_id) == ()
            assert private.is_tuned(info) is not info.reduction
            if not info.reduction:
                assert isinstance(info.from_config(config), int)


def test_host_tensors_have_a_name_in_the_host_function(bound: Any):
    host = bound.host_function
    node = next(node for node in nodes(bound) if private.target_name(node.target) == "_host_tensor")
    origin = host.tensor_to_origin[node.meta["val"]]
    assert origin.is_host()
    assert origin.host_str() in ("x", "y", "out")
    assert origin.suggest_var_name().isidentifier()


def test_an_environment_knows_sizes_and_how_index_tensors_meet(bound: Any):
    env = bound.env
    with env, bound.host_function:
        assert env.size_hint(7) == 7
        assert isinstance(env.should_broadcast_tensor_indexers([slice(None)]), bool)


def test_a_dynamic_kernel_keeps_the_values_that_it_was_bound_with():
    case = next(case for case in CASES if str(case) == "add_dynamic")
    bound = private.bind(private.copied_kernel(case.kernel), tuple(case.inputs()))[1]
    with bound.env, bound.host_function:
        shape_env = bound.env.shape_env
        assert set(private.backed_values(shape_env).values()) & set(case.inputs()[0].shape)
        symbol = next(iter(private.backed_values(shape_env)))
        assert shape_env.replace(symbol).free_symbols
        assert shape_env.is_unbacked_symint(symbol) is False


def test_a_jagged_tile_has_a_parent():
    case = next(case for case in CASES if str(case) == "jagged_tile_sum")
    bound = private.bind(private.copied_kernel(case.kernel), tuple(case.inputs()))[1]
    parents = [private.jagged_parents(bound.env, info.block_id) for info in bound.env.block_sizes]
    assert any(parents)


# --- configurations ---------------------------------------------------------------------


def test_a_configuration_has_named_fields_and_says_of_each_loop_what_is_its(bound: Any):
    assert {"block_sizes", "loop_orders", "l2_groupings", "num_warps", "pid_type"} <= {*private.config_fields()}
    config = private.config_type()(block_sizes=[16, 16, 16], loop_orders=[[1, 0]], l2_groupings=[4])
    blocks = bound.host_function.device_ir.grid_block_ids[0]
    assert list(private.config_value(bound.config_spec, config, "loop_orders", blocks[0])) == [1, 0]
    assert private.config_value(bound.config_spec, config, "l2_groupings", blocks[0]) == 4
    assert private.config_value(bound.config_spec, config, "no_such_field", blocks[0]) is None


def test_the_block_behind_a_size_of_a_tile_is_known(bound: Any):
    (load,) = (node for node in nodes(bound) if node.name == "load")
    with bound.env, bound.host_function:
        blocks = [private.block_behind(bound.env, size) for size in load.meta["val"].shape]
    assert len(set(blocks)) == 2
    assert None not in blocks


def test_a_configuration_is_drawn_by_pythons_generator(bound: Any):
    def drawn(seed: int) -> list[Any]:
        random.seed(seed)
        return [private.random_config(bound.config_spec) for _ in range(3)]

    state = random.getstate()
    with bound.env, bound.host_function:
        assert drawn(3) == drawn(3) != drawn(4)
    random.setstate(state)
    assert all(isinstance(config, private.config_type()) for config in drawn(5))
    random.setstate(state)


# --- eager mode --------------------------------------------------------------------------


def test_eager_mode_asks_for_tiles_and_their_lanes():
    asked: list[Any] = []

    def around(own: Any) -> Any:
        def tile(begin: Any, end: Any = None, block_size: Any = None) -> Any:
            asked.append((begin, end, block_size))
            tiles = [*own(begin, end, [2, 4])]
            asked.append([tuple(operator.index(side) for side in one) for one in tiles])
            return tiles

        return tile

    ran = eager_mode.kernel(doubled, [helion.Config(block_sizes=[2, 4])])
    with private.eager_tiles(around):
        ran(torch.ones(5, 5))
    assert asked == [([3, 0], [5, 5], None), [(2, 4), (2, 1)]]
    ran(torch.ones(5, 5))
    assert len(asked) == 2


def test_helion_says_what_it_tells_a_loop(bound: Any):
    config = helion.Config(block_sizes=[16, 16, 16], range_unroll_factors=[0, 2], range_flattens=[None, False])
    bound.config_spec.normalize(config)
    with bound.env, bound.host_function:
        assert private.range_options(config, 2) == {"loop_unroll_factor": 2, "flatten": False}
        assert private.range_options(config, 0) == {}
