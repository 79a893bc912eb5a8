"""What `irwidget.private_torch` takes from PyTorch's private names, each with what it must do.

A new release of PyTorch that moves or changes one fails here, by name, before it fails anywhere else.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import pickle
import subprocess
import sys
import threading

import pytest
import sympy
import torch
from torch._export import utils
from torch._ops import OperatorBase
from torch.fx.experimental.symbolic_shapes import ShapeEnv
from torch.overrides import TorchFunctionMode

from irwidget import private_torch as private
from irwidget import private_torch_export as export
from irwidget import private_torch_library as library


def flattens_and_rebuilds_what_is_nested():
    leaves, tree = private.pytree.tree_flatten({"a": [1, (2, None)]})
    assert private.pytree.tree_unflatten(leaves, tree) == {"a": [1, (2, None)]}
    assert private.pytree.tree_leaves([1, [2]]) == [1, 2]
    assert private.pytree.tree_map(lambda leaf: leaf + 1, (1, [2])) == (2, [3])
    assert private.pytree.tree_leaves([[1], 2], is_leaf=lambda leaf: leaf == [1]) == [[1], 2]


def gives_tensors_without_data():
    with private.FakeTensorMode(allow_non_fake_inputs=True) as mode:
        made = torch.empty(1 << 20, 1 << 20) + 1
    assert isinstance(made, private.FakeTensor)
    assert made.fake_mode is mode
    assert made.shape == (1 << 20, 1 << 20)


def is_the_class_of_fake_tensors():
    with private.FakeTensorMode():
        assert isinstance(torch.empty(2), private.FakeTensor)


def records_calls_of_aten_operators():
    graph = private.make_fx(lambda a: torch.exp(a) + 1)(torch.zeros(2)).graph
    targets = [n.target for n in graph.nodes if n.op == "call_function"]
    assert targets == [torch.ops.aten.exp.default, torch.ops.aten.add.Tensor]
    assert all(isinstance(target, private.OpOverload) for target in targets)


def is_the_class_of_operators():
    assert isinstance(torch.ops.aten.exp.default, private.OpOverload)


def turns_changes_in_place_into_values():
    def change(a):
        b = a.clone()
        b.add_(1)
        return b

    with private.FakeTensorMode() as fake:
        given = torch.zeros(2)
    mode = private.FunctionalTensorMode(pre_dispatch=True, export=True)
    functional = private.dispatch_functionalize(change, mode=mode)
    with fake:
        graph = private.make_fx(functional, pre_dispatch=True)(given).graph
    assert [n.target for n in graph.nodes if n.op == "call_function"] == [
        torch.ops.aten.clone.default,
        torch.ops.aten.add.Tensor,
    ]


def lets_decompositions_see_composite_operators():
    with private.AutoDispatchBelowAutograd():
        assert not (torch.ones(2, requires_grad=True) * 2).requires_grad


def has_python_decompositions():
    found = private.get_decompositions([torch.ops.aten.addcmul])[torch.ops.aten.addcmul.default]
    assert found(torch.ones(1), torch.ones(1), torch.ones(1)).item() == 2


def counts_why_dynamo_cut_graphs():
    assert dict(private.counters["graph_break"]) is not None


def lowers_to_inductors_loops():
    with torch.no_grad(), private.FakeTensorMode() as mode:
        given = torch.empty(4)
        module = private.make_fx(torch.exp, decomposition_table=private.select_decomp_table())(given)
    lowering = private.GraphLowering(module, example_inputs=[given])
    with private.V.set_graph_handler(lowering), private.V.set_fake_mode(mode):
        lowering.run(given)
        (operation,) = lowering.operations
        assert operation.get_operation_name() == "op0"


def gives_sizes_as_numbers_and_leaves_other_symbols():
    sizes, symbol = private.SizeVarAllocator(), sympy.Symbol("tmp0", integer=True)
    assert sizes.replace_backed_symbols_with_hints(sympy.Integer(3)) == 3
    assert sizes.replace_backed_symbols_with_hints(symbol + 1) == symbol + 1


def compiles_graphs():
    assert callable(private.compile_fx.compile_fx)  # what the front end of a Spyre checkout replaces


def describes_sizes_of_fake_tensors():
    with private.FakeTensorMode(shape_env=private.ShapeEnv()):
        assert torch.empty(3).shape == (3,)


def knows_what_holds_of_every_size():
    shapes = private.ShapeEnv()
    size = shapes.create_unbacked_symint()
    torch._check(size >= 0)
    assert private.statically_known_true(size + 1 > 0)
    assert not private.statically_known_true(size > 0)


def exports_scripted_modules():
    scripted = torch.jit.script(torch.nn.Linear(2, 2))
    program = private.TS2EPConverter(scripted, (torch.ones(1, 2),), {}).convert()
    assert torch.equal(program.module()(torch.ones(1, 2)), scripted(torch.ones(1, 2)))


def compiles_forward_and_backward():
    graphs: list[str] = []

    def keep(graph, inputs):
        graphs.append(graph.code)

        def run(arguments):
            return graph(*arguments)

        run._boxed_call = True
        return run

    def backend(module, inputs):
        return private.aot_autograd(fw_compiler=keep, bw_compiler=keep)(module, inputs)

    x = torch.ones(2, requires_grad=True)
    torch.compile(lambda a: (a * a).sum(), backend=backend)(x).backward()
    assert len(graphs) == 2
    assert x.grad.tolist() == [2.0, 2.0]


def keeps_the_order_of_what_is_put_in():
    assert list(private.OrderedSet([3, 1, 3, 2])) == [3, 1, 2]


def tells_the_kind_of_a_symbol():
    import sympy

    assert private.symbol_is_type(sympy.Symbol("zuf0"), (private.SymT.UNBACKED_FLOAT, private.SymT.FLOAT))
    assert not private.symbol_is_type(sympy.Symbol("s0"), private.SymT.FLOAT)


def sees_every_operator():
    seen = []

    class Mode(private.TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            seen.append(func)
            return func(*args, **(kwargs or {}))

    with Mode():
        torch.exp(torch.ones(1))
    assert torch.ops.aten.exp.default in seen


def makes_real_tensors_amid_fake_ones():
    with private.FakeTensorMode(), private.disable_current_modes():
        assert not isinstance(torch.ones(1), private.FakeTensor)


def says_when_memory_is_given_back():
    storage = torch.zeros(4).untyped_storage()
    weak = private.StorageWeakRef(storage)
    assert not weak.expired()
    del storage
    assert weak.expired()


def keeps_function_modes_out():
    class Mode(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            raise AssertionError(func)

    x = torch.ones(1)
    with Mode(), private.DisableTorchFunction():
        assert x.data_ptr()


CONTRACT = {
    "OrderedSet": keeps_the_order_of_what_is_put_in,
    "SymT": tells_the_kind_of_a_symbol,
    "statically_known_true": knows_what_holds_of_every_size,
    "symbol_is_type": tells_the_kind_of_a_symbol,
    "TorchDispatchMode": sees_every_operator,
    "disable_current_modes": makes_real_tensors_amid_fake_ones,
    "DisableTorchFunction": keeps_function_modes_out,
    "StorageWeakRef": says_when_memory_is_given_back,
    "TS2EPConverter": exports_scripted_modules,
    "pytree": flattens_and_rebuilds_what_is_nested,
    "FakeTensor": is_the_class_of_fake_tensors,
    "FakeTensorMode": gives_tensors_without_data,
    "FunctionalTensorMode": turns_changes_in_place_into_values,
    "dispatch_functionalize": turns_changes_in_place_into_values,
    "make_fx": records_calls_of_aten_operators,
    "AutoDispatchBelowAutograd": lets_decompositions_see_composite_operators,
    "OpOverload": is_the_class_of_operators,
    "get_decompositions": has_python_decompositions,
    "counters": counts_why_dynamo_cut_graphs,
    "select_decomp_table": lowers_to_inductors_loops,
    "GraphLowering": lowers_to_inductors_loops,
    "aot_autograd": compiles_forward_and_backward,
    "SizeVarAllocator": gives_sizes_as_numbers_and_leaves_other_symbols,
    "V": lowers_to_inductors_loops,
    "compile_fx": compiles_graphs,
    "ShapeEnv": describes_sizes_of_fake_tensors,
}


@pytest.mark.parametrize("name", private.NAMES)
def test_a_private_name_does_what_it_is_used_for(name):
    CONTRACT[name]()


@pytest.mark.parametrize("name", private.CONFIGS)
def test_settings_can_be_copied(name):
    assert importlib.import_module(name).get_config_copy()


def test_graphs_can_be_pickled():
    importlib.import_module(private.NEEDED_TO_UNPICKLE_GRAPHS)
    packed = io.BytesIO()
    torch.save(torch.fx.symbolic_trace(torch.nn.Linear(2, 2)), packed)
    packed.seek(0)
    assert torch.load(packed, weights_only=False)(torch.ones(1, 2)).shape == (1, 2)


def test_host_modules_find_their_check():
    module, _, name = private.ASSERT_SIZE_STRIDE.rpartition(".")
    check = torch
    for part in [*module.split(".")[1:], name]:
        check = getattr(check, part)
    check(torch.zeros(2, 3), (2, 3), (3, 1))
    with pytest.raises(AssertionError):
        check(torch.zeros(2, 3), (3, 2), (2, 1))


def test_wrapper_tensors_are_placed_and_unpickled_ones_are_made_within_what_is_given():
    owner, name, make = private.of_wrapper_tensors(lambda device: "meta")

    class Wrapper(torch.Tensor):
        __torch_dispatch__ = print

    assert make(Wrapper, (2,), dtype=torch.int8, device="cpu").device.type == "meta"
    assert getattr(owner, name) is not make
    entered = []

    @contextlib.contextmanager
    def around():
        entered.append(1)
        yield

    owner, name, make = private.of_unpickled_tensors(around)
    before = getattr(owner, name)
    setattr(owner, name, make)
    try:
        assert pickle.loads(pickle.dumps(torch.ones(2))).tolist() == [1, 1]
    finally:
        setattr(owner, name, before)
    assert entered == [1]


def test_tensors_that_share_memory_are_known():
    x = torch.zeros(4)
    assert private.storage_id(x) == private.storage_id(x[2:])
    assert private.storage_id(x) != private.storage_id(x.clone())
    seen = [private.is_transformed(x)]
    torch.func.grad(lambda x: (seen.append(private.is_transformed(x)), x.sum())[1])(x)
    assert seen == [False, True]
    with private.FakeTensorMode():
        fake = torch.empty(4)
        assert private.storage_id(fake) == private.storage_id(fake.view(2, 2)) != private.storage_id(fake + 1)


def test_a_mode_knows_when_a_base_is_read():
    read: list[bool] = []

    class Mode(TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            read.append(private.reads_base(func))
            return func(*args, **(kwargs or {}))

    x = torch.zeros(4)
    with Mode():
        view = x[1:]
        assert view._base is x
        assert view.T is not x
    assert read == [False, True, False]


def test_each_thread_knows_for_itself_whether_a_fake_mode_is_at_work():
    @private.for_threads
    class InThreads(private.FakeTensorMode):
        pass

    here, there, plain = InThreads(), [], private.FakeTensorMode()
    names = ("in_kernel_invocation", "enter_stack")
    assert set(names) <= vars(plain).keys()
    with here:
        here.in_kernel_invocation = True
        thread = threading.Thread(target=lambda: there.extend(getattr(here, name) for name in names))
        thread.start()
        thread.join()
        assert there == [False, []]
        assert here.in_kernel_invocation
        assert len(here.enter_stack) == 1


def test_fake_tensors_of_real_ones_are_always_the_same_and_keep_no_values():
    class Forgetting(private.FakeTensorMode):
        def may_turn_const(self, t):
            return False

    real = torch.tensor([2, 3])
    with Forgetting(allow_non_fake_inputs=True) as mode:
        fake = private.as_fake(mode, real)
        assert fake is private.as_fake(mode, real)
        assert private.storage_id(fake) == private.storage_id(real.view(2, 1)) != private.storage_id(fake + 1)
        with pytest.raises(Exception, match="_local_scalar_dense"):
            torch.tensor([1, 2]).sum().item()


def test_what_an_operator_writes_and_draws():
    aten = torch.ops.aten
    x, y = torch.zeros(2), torch.zeros(2)
    assert [id(one) for one in private.written_arguments(aten.add_.Tensor, (x, y), {})] == [id(x)]
    assert private.written_arguments(aten.add.out, (x, y), {"out": y})[0] is y
    assert private.written_arguments(aten.add.Tensor, (x, y), {}) == []
    for trains in (True, False):  # of which the schema says nothing
        mean, spread = torch.zeros(2), torch.ones(2)
        found = private.written_arguments(aten.native_batch_norm.default, (x, None, None, mean, spread, trains), {})
        assert list(map(id, found)) == [id(mean), id(spread)] * trains
        torch.native_batch_norm(torch.rand(4, 2), None, None, mean, spread, trains, 0.1, 1e-5)
        assert bool(mean.any()) is trains
    assert list(map(id, private.written_arguments(len, (x,), {"a": y}))) == [id(x), id(y)]
    assert [private.is_inplace_view(one) for one in (aten.t_.default, aten.add_.Tensor, len)] == [True, False, False]
    drawing = (aten.rand.default, aten.bernoulli_.float, aten.native_dropout.default, aten.add.Tensor)
    assert [private.is_random(one) for one in drawing] == [True, True, True, False]


def test_the_parameters_of_an_operator_that_take_tensors():
    aten = torch.ops.aten
    assert private.tensor_parameters(aten.addmm.default) == (True, True, True, False, False)
    assert private.tensor_parameters(aten.native_layer_norm.default) == (True, False, False, False, False)
    assert private.tensor_parameters(aten.add.Scalar) == (True, False, False)


def test_a_tensor_knows_how_often_it_was_written_to():
    x = torch.zeros(4)
    before = private.version(x)
    x.add_(1)
    assert private.version(x) == before + 1


def test_what_was_compiled_leads_back_to_what_was_given():
    module, function = torch.nn.Linear(2, 2), lambda x: x
    compiled, other = torch.compile(module), torch.compile(function)
    assert [private.uncompiled(one) for one in (compiled, other, module)] == [module, function, module]
    assert [private.is_compiled_function(one) for one in (other, function)] == [True, False]
    assert private.uncompiled_module(compiled) is module


def test_what_was_compiled_is_traced_and_called_as_it_was_written():
    def refuses(module, inputs):
        raise AssertionError("compiled")

    compiled, given = torch.compile(torch.sin, backend=refuses), torch.ones(2)
    with private.called_as_written():
        assert torch.equal(compiled(given), given.sin())
    with private.traced_as_written():
        graph = private.make_fx(compiled)(given).graph
    assert [node.target for node in graph.nodes if node.op == "call_function"] == [torch.ops.aten.sin.default]


def test_decompositions_compute_halves_in_themselves():
    (glu,) = private.get_decompositions([torch.ops.aten.glu.default]).values()

    def casts():
        traced = private.make_fx(lambda x: glu(x))(torch.ones(4).half()).graph
        return [node for node in traced.nodes if "_to_copy" in str(node.target)]

    with private.computed_in_half():
        assert not casts()
    assert casts()


def test_nodes_and_operators_say_what_they_are():
    graph = torch.fx.symbolic_trace(lambda x: x + 1 + 2).graph
    assert sorted(set(graph.nodes), key=private.position) == list(graph.nodes)
    assert private.has_schema(torch.ops.aten.add.Tensor)
    assert not private.has_schema(len)
    aten = torch.ops.aten
    operators = [aten.t.default, aten.relu_.default, aten.add.Tensor, aten.sort.default, len]
    assert [private.returns_view(one) for one in operators] == [True, True, False, False, False]
    assert private.overload_name(torch.ops.aten.add.Tensor) == "Tensor"
    assert private.has_cpu_kernel("aten::add.Tensor")
    assert not private.has_cpu_kernel("aten::cudnn_convolution")


def test_a_backends_function_may_take_one_list():
    given = []

    def backend(module, inputs):
        def run(arguments):
            given.append(type(arguments))
            return module(*arguments)

        return private.boxed(run)

    compiled = torch.compile(lambda x: x + 1, backend=lambda m, i: private.aot_autograd(fw_compiler=backend)(m, i))
    with torch.no_grad():
        assert compiled(torch.ones(1)).item() == 2
    assert given == [list]


def test_a_module_keeps_its_tensors_in_two_places():
    module = torch.nn.BatchNorm1d(2)
    parameters, buffers = private.tensor_places(module)
    assert set(parameters) == {"weight", "bias"}
    parameters["weight"] = torch.nn.Parameter(torch.full((2,), 7.0))
    assert module.weight[0] == 7
    assert buffers["running_mean"] is module.running_mean
    assert private.tensor_places(torch.jit.script(module)) == ()


def test_a_program_is_decomposed_as_by_torch_which_finds_its_operators_once(monkeypatch):
    def finds():
        found.append(True)
        find()

    def composite(x):
        return torch.nn.functional.linear(x, x) + torch.ops.irwidget_contract.composite(x)

    found, find = [], utils._materialize_cpp_cia_ops
    monkeypatch.setattr(utils, "_materialize_cpp_cia_ops", finds)
    ours = torch.library.Library("irwidget_contract", "FRAGMENT")
    try:
        ours.define("composite(Tensor x) -> Tensor")
        ours.impl("composite", lambda x: x + 1, "CompositeImplicitAutograd")
        module = torch.nn.Module()
        module.forward = composite
        program = torch.export.export(module, (torch.ones(2, 2),))
        for table in ({}, {torch.ops.aten.linear.default: lambda x, y: x @ y.t()}):
            plain = program.run_decompositions(table)
            before = private.kernels(), OperatorBase.py_impl
            found.clear()
            assert export.decomposed(program, table).graph_module.code == plain.graph_module.code
            assert found == [True]
            assert before == (private.kernels(), OperatorBase.py_impl)
        found.clear()
        by_default = export.default_decompositions()
        assert found == [True]
        assert by_default.keys() == dict(torch.export.default_decompositions().items()).keys()
    finally:
        ours._destroy()


def test_other_sizes_are_within_their_ranges():
    class Two(torch.nn.Module):
        def forward(self, x, y):
            return x.sum() + y.sum()

    n, m = torch.export.Dim("n", min=3, max=8), torch.export.Dim("m", min=2, max=40)
    given = torch.ones(4, 5), torch.ones(8, 5)
    program = torch.export.export(Two(), given, dynamic_shapes=({0: n, 1: m}, {0: 2 * n, 1: m}))
    shapes = [node.meta["val"].shape for node in program.graph.nodes if node.op == "placeholder"]
    sizes = [one.shape for one in given]
    assert export.other_sizes(shapes, sizes, 3) == [[7, 9], [14, 9]]
    assert export.other_sizes(shapes, sizes, -1) == [[3, 4], [6, 4]]
    assert export.other_sizes(shapes, sizes, 5) == [[4, 11], [8, 11]]
    assert export.other_sizes([(4, 5)], [(4, 5)], 3) is None


@pytest.mark.parametrize(("taken", "larger", "smaller"), [
    (lambda n, m: n % 4 == 0, [[12, 10]], [[4, 5]]),
    (lambda n, m: n > 7 and m > 2, [[11, 10]], [[8, 5]]),
    (lambda n, m: n % 64 == 8, [[72, 10]], [[8, 5]]),
    (lambda n, m: 3 * n == 4 * m, [[16, 12]], [[4, 3]]),
    (lambda n, m: n == 8 and m == 6, None, None),
])  # fmt: skip
def test_other_sizes_are_such_that_guards_hold_for_them(taken, larger, smaller):
    given = torch.ones(8, 6)
    shape = private.FakeTensorMode(shape_env=ShapeEnv(), static_shapes=False).from_tensor(given).shape
    assert taken(*shape)
    sizes = [export.other_sizes([shape], [given.shape], step, guarded=True) for step in (3, -1)]
    assert sizes == [larger, smaller]


def test_modes_are_counted_and_taken_off():
    before = private.mode_depths()
    private.FakeTensorMode().__enter__()
    torch.overrides.BaseTorchFunctionMode().__enter__()
    assert private.mode_depths() == (before[0] + 1, before[1] + 1)
    private.pop_modes(before)
    assert private.mode_depths() == before
    assert not isinstance(torch.zeros(1), private.FakeTensor)


def test_tracers_ask_which_frames_to_keep():
    seen = []

    def keep(tracer, stack):
        seen.append(stack)
        return stack

    with private.traceback_filter(keep):
        torch.export.export(torch.nn.Linear(2, 2), (torch.zeros(1, 2),))
    assert seen


def twice(x: torch.Tensor) -> torch.Tensor:
    return 2 * x


def test_an_operator_of_the_users_own_runs_python_that_is_found():
    @torch.library.custom_op("irwidget_contract::plus", mutates_args=())
    def plus(x: torch.Tensor, n: int) -> torch.Tensor:
        return x + n

    operator = torch.ops.irwidget_contract.plus.default
    found = library.custom_op_function(operator)
    assert found is not None
    assert torch.equal(found(torch.ones(2), 1), torch.full((2,), 2.0))
    assert library.custom_op_function(torch.ops.aten.add.Tensor) is None
    assert library.custom_op_function(torch.Tensor.add) is None
    assert library.custom_op_function(torch.ops.prims.uniform.default) is None  # torch's own
    by_triton = torch.library.triton_op("irwidget_contract::twice", mutates_args={})(twice)._opoverload
    assert library.custom_op_function(by_triton)(torch.ones(1)).item() == 2
    ours = torch.library.Library("irwidget_contract", "FRAGMENT")
    keys = ("CUDA", "CompositeExplicitAutograd", "AutogradCUDA")
    try:
        for key in keys:
            ours.define(f"minus{key}(Tensor x) -> Tensor")
            ours.impl(f"minus{key}", lambda x: -x, key)
            minus = getattr(torch.ops.irwidget_contract, f"minus{key}").default
            registered = library.registered_for_cuda(minus)
            assert registered is not None
            assert registered(torch.ones(1)).item() == -1
    finally:
        ours._destroy()
    assert library.registered_for_cuda(minus) is None
    assert library.registered_for_cuda(torch.ops.aten._foreach_mm.default) is None  # torch's own
    assert library.registered_for_cuda(torch.ops.prims.add.default) is None
    with (
        private.plain_triton_kernels(),
    ):
        assert torch.library.wrap_triton is not None


def test_what_a_library_has_for_an_operator_that_is_taken_apart_runs_as_on_cuda():
    """Without a GPU: PyTorch's table for CUDA says what it would call."""
    operator, ours = torch.ops.aten.softmax.int, torch.library.Library("aten", "IMPL")
    x = torch.ones(2, requires_grad=True)
    assert library.is_taken_apart(operator)
    assert not library.is_taken_apart(torch.ops.aten.silu.default)
    assert operator not in library.with_functions(library.registered(), "CUDA", "Autograd")
    seen = []

    class Seeing(private.TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            seen.append(func)
            return func(*args, **(kwargs or {}))

    def instead(on_cpu, *args):
        assert [type(one) for one in private.dispatch_modes()] == [Seeing]
        made = on_cpu(*args)
        assert operator not in seen
        return made + library.shown_to_modes(operator, *args)

    try:
        ours.impl("softmax.int", lambda x, dim, dtype=None: x * 3, "CUDA")
        assert library.has_function(operator, "CUDA")
        assert operator in library.with_functions(library.registered(), "CUDA", "Autograd")
        assert library.before_modes(operator, host=False) is None
        with library.instead_on_cpu(operator, instead), Seeing():
            made = torch.softmax(x, 0)
        assert operator in seen
        assert made.tolist() == [1.0, 1.0]  # the mode's is that of the CPU, again
        made.sum().backward()
        ours.impl("softmax.int", lambda x, dim, dtype=None: x * 5, "AutogradCUDA")
        assert library.before_modes(operator, host=True) is None
        assert library.before_modes(operator, host=False)(x, 0).tolist() == [5, 5]
    finally:
        ours._destroy()
    assert operator not in library.with_functions(library.registered(), "CUDA", "Autograd", "AutogradCUDA")
    assert private.dispatch_modes() == []


def test_an_operator_says_whether_it_writes_into_an_argument():
    aten = torch.ops.aten
    found = [private.is_mutable(one) for one in (aten.add_.Tensor, aten.add.Tensor, aten.add.out, print)]
    assert found == [True, False, True, False]


def test_a_device_of_our_own_exists_without_native_code():
    script = (
        "import torch; from irwidget import private_torch as p; p.register_python_device();"
        "torch.utils.rename_privateuse1_backend('mine');"
        "kind = type('Kind', (torch.Tensor,), {'__torch_dispatch__': classmethod(lambda *_: None)});"
        "made = p.wrapper_tensor(kind, (2, 3), (3, 1), torch.float16, torch.device('mine', 0));"
        "assert made.device.type == 'mine' and made.stride() == (3, 1)"
    )
    subprocess.run([sys.executable, "-c", script], check=True, timeout=90)
