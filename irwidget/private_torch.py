"""PyTorch's private names, all that the front ends, Spyre and the checks use: what a new release moves is mended here.

`tests/core/test_contract.py` says of each what it must do. Names are looked up when they are first asked for, so that
importing this costs nothing: `from irwidget.private_torch import pytree`.
"""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Callable, Generator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, cast

if TYPE_CHECKING:
    import torch
    from torch._decomp import get_decompositions as get_decompositions  # pyright: ignore[reportUnknownVariableType]
    from torch._dynamo.backends.common import aot_autograd as aot_autograd
    from torch._dynamo.utils import counters as counters
    from torch._export.converter import TS2EPConverter as TS2EPConverter
    from torch._inductor.decomposition import (
        select_decomp_table as select_decomp_table,  # pyright: ignore[reportUnknownVariableType]
    )
    from torch._inductor.graph import GraphLowering as GraphLowering
    from torch._inductor.sizevars import SizeVarAllocator as SizeVarAllocator
    from torch._inductor.virtualized import V as V
    from torch._ops import OpOverload as OpOverload
    from torch._subclasses.fake_tensor import FakeTensor as FakeTensor
    from torch._subclasses.fake_tensor import FakeTensorMode as FakeTensorMode
    from torch._subclasses.functional_tensor import FunctionalTensorMode as FunctionalTensorMode
    from torch._subclasses.functional_tensor import dispatch_functionalize as dispatch_functionalize
    from torch.fx.experimental.proxy_tensor import make_fx as make_fx
    from torch.fx.experimental.symbolic_shapes import ShapeEnv as ShapeEnv
    from torch.fx.experimental.symbolic_shapes import statically_known_true as statically_known_true
    from torch.multiprocessing.reductions import StorageWeakRef as StorageWeakRef
    from torch.utils._ordered_set import OrderedSet as OrderedSet
    from torch.utils._python_dispatch import TorchDispatchMode as TorchDispatchMode
    from torch.utils._sympy.symbol import SymT as SymT
    from torch.utils._sympy.symbol import symbol_is_type as symbol_is_type

    AutoDispatchBelowAutograd: Callable[[], contextlib.AbstractContextManager[None]]
    DisableTorchFunction: Callable[[], contextlib.AbstractContextManager[None]]
    compile_fx: Any
    disable_current_modes: Callable[[], contextlib.AbstractContextManager[object]]

NAMES = {
    "pytree": ("torch.utils._pytree", ""),
    "FakeTensor": ("torch._subclasses.fake_tensor", "FakeTensor"),
    "FakeTensorMode": ("torch._subclasses.fake_tensor", "FakeTensorMode"),
    "FunctionalTensorMode": ("torch._subclasses.functional_tensor", "FunctionalTensorMode"),
    "dispatch_functionalize": ("torch._subclasses.functional_tensor", "dispatch_functionalize"),
    "make_fx": ("torch.fx.experimental.proxy_tensor", "make_fx"),
    "AutoDispatchBelowAutograd": ("torch._C", "_AutoDispatchBelowAutograd"),
    "OpOverload": ("torch._ops", "OpOverload"),
    "get_decompositions": ("torch._decomp", "get_decompositions"),
    "counters": ("torch._dynamo.utils", "counters"),
    "select_decomp_table": ("torch._inductor.decomposition", "select_decomp_table"),
    "GraphLowering": ("torch._inductor.graph", "GraphLowering"),
    "aot_autograd": ("torch._dynamo.backends.common", "aot_autograd"),
    "TS2EPConverter": ("torch._export.converter", "TS2EPConverter"),
    "SizeVarAllocator": ("torch._inductor.sizevars", "SizeVarAllocator"),
    "V": ("torch._inductor.virtualized", "V"),
    "compile_fx": ("torch._inductor.compile_fx", ""),
    "ShapeEnv": ("torch.fx.experimental.symbolic_shapes", "ShapeEnv"),
    "statically_known_true": ("torch.fx.experimental.symbolic_shapes", "statically_known_true"),
    "OrderedSet": ("torch.utils._ordered_set", "OrderedSet"),
    "SymT": ("torch.utils._sympy.symbol", "SymT"),
    "symbol_is_type": ("torch.utils._sympy.symbol", "symbol_is_type"),
    "TorchDispatchMode": ("torch.utils._python_dispatch", "TorchDispatchMode"),
    "disable_current_modes": ("torch.utils._python_dispatch", "_disable_current_modes"),
    "DisableTorchFunction": ("torch._C", "DisableTorchFunction"),
    "StorageWeakRef": ("torch.multiprocessing.reductions", "StorageWeakRef"),
}
"""Our name -> module and name of torch; no name is the module itself."""
CONFIGS = (
    "torch._dynamo.config",
    "torch._functorch.config",
    "torch._inductor.config",
    "torch.fx.experimental._config",
)
"""Modules of settings, each with `get_config_copy`."""
NEEDED_TO_UNPICKLE_GRAPHS = "torch._higher_order_ops.triton_kernel_wrap"
"""A module that unpickling a GraphModule uses without importing it."""
ASSERT_SIZE_STRIDE = "torch._C._dynamo.guards.assert_size_stride"
"""What Inductor's host modules check their inputs with."""


def of_host_modules(empty_strided: Callable[..., Any]) -> list[tuple[Any, str, Any]]:
    """Modules, names in them, and what stands there on one GPU that is not there: what Inductor's host modules call.

    `empty_strided(size, stride, dtype)` makes its tensors. Some names are only there where PyTorch is built for CUDA.
    """
    import torch

    c, cuda = torch._C, torch.cuda  # pyright: ignore[reportPrivateUsage]
    return [
        (c, "_cuda_getCurrentRawStream", lambda device: 0),
        (cuda, "_exchange_device", lambda device: 0),
        (cuda, "_maybe_exchange_device", lambda device: 0),
        (c._dynamo.guards, "_empty_strided_cuda", empty_strided),
    ]


def __getattr__(name: str) -> Any:
    if name not in NAMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    module, inner = NAMES[name]
    found: Any = import_module(module)
    return getattr(found, inner) if inner else found


def register_python_device() -> None:
    """Have torch's one device for others exist, without native code: guards and hooks that do nothing.

    For a process of its own: it cannot be taken back. What names the device registers its module.
    """
    import torch
    import torch.utils.backend_registration as registration

    c: Any = torch._C  # pyright: ignore[reportPrivateUsage]
    given: Any = registration
    c._acc.register_python_privateuseone_hook(given._DummyPrivateUse1Hook())
    c._acc.register_python_privateuseone_device_guard(given._DummyDeviceGuard())


def wrapper_tensor(kind: Any, size: Any, stride: Any, dtype: torch.dtype, device: torch.device) -> Any:
    """A tensor of a subclass that has sizes, and no storage."""
    import torch

    make: Any = torch.Tensor._make_wrapper_subclass  # pyright: ignore[reportPrivateUsage, reportUnknownMemberType]
    return make(kind, size, strides=stride, dtype=dtype, device=device)


def of_wrapper_tensors(place: Callable[[Any], Any]) -> tuple[Any, str, Any]:
    """What has subclasses that wrap other tensors where `place` puts their device: an owner, a name and a function."""
    import torch

    make: Any = torch.Tensor._make_wrapper_subclass  # pyright: ignore[reportPrivateUsage, reportUnknownMemberType]

    def placed(*args: Any, **kwargs: Any) -> torch.Tensor:
        return make(*args, **{name: place(value) if name == "device" else value for name, value in kwargs.items()})

    return torch.Tensor, "_make_wrapper_subclass", placed


def of_unpickled_tensors(around: Callable[[], contextlib.AbstractContextManager[None]]) -> tuple[Any, str, Any]:
    """What has pickle make tensors within `around`: an owner, a name and a function."""
    from torch import _utils

    make: Any = _utils._rebuild_tensor  # pyright: ignore[reportPrivateUsage, reportUnknownMemberType]

    def made(*args: Any) -> Any:
        with around():
            return make(*args)

    return _utils, "_rebuild_tensor", made


def reads_base(function: Any) -> bool:
    """Whether a function that a mode is asked about reads what a tensor is a view of, `Tensor._base`."""
    import torch

    kind: Any = torch.Tensor
    return function == kind._base.__get__


def storage_id(tensor: torch.Tensor) -> int:
    """A number that tensors share which share memory, fake ones too."""
    return storage_key(tensor.untyped_storage())


def storage_key(storage: torch.UntypedStorage) -> int:
    """The same of a storage itself."""
    return storage._cdata  # pyright: ignore[reportPrivateUsage]


class _Moment(threading.local):
    """What a fake mode knows of the thread that uses it, and has for itself."""

    def __init__(self) -> None:
        self.in_kernel_invocation = False
        self.enter_stack: list[Any] = []


_Mode = TypeVar("_Mode", bound=type)


def for_threads(kind: _Mode) -> _Mode:
    """Have the fake modes of a class know for each thread by itself whether it is at work."""

    def own(name: str) -> property:
        def moment(mode: Any) -> _Moment:
            return vars(mode).setdefault("moment", _Moment())

        def set_to(mode: Any, value: Any) -> None:
            setattr(moment(mode), name, value)

        return property(lambda mode: getattr(moment(mode), name), set_to)

    for name in vars(_Moment()):
        setattr(kind, name, own(name))
    return kind


def is_transformed(tensor: torch.Tensor) -> bool:
    """Whether a tensor is what a function sees that `torch.func` transforms: it has no memory of its own."""
    import torch

    return torch._C._functorch.is_functorch_wrapped_tensor(tensor)  # pyright: ignore


def as_fake(mode: FakeTensorMode, real: torch.Tensor) -> FakeTensor:
    """The fake tensor that stands for a real one: always the same, as long as somebody has it."""
    return mode.fake_tensor_converter.from_real_tensor(mode, real)


def version(tensor: torch.Tensor) -> int:
    """How often torch knows a tensor to have been written to."""
    return tensor._version  # pyright: ignore[reportPrivateUsage]


def is_compiled_function(obj: Any) -> bool:
    """Whether `torch.compile` has made it of a function."""
    return hasattr(obj, "_torchdynamo_orig_callable")


def uncompiled_module(obj: Any) -> Any:
    """The module that `torch.compile` was given; what is none of its modules, as it is."""
    return getattr(obj, "_orig_mod", obj)


def uncompiled(obj: Any) -> Any:
    """The module or function that `torch.compile` was given; what it has not made, as it is."""
    module = uncompiled_module(obj)
    return module if module is not obj else getattr(obj, "_torchdynamo_orig_callable", obj)


@contextlib.contextmanager
def traced_as_written() -> Generator[None]:
    """While it lasts, FX's tracers see what `torch.compile` was given, not what it made; `torch.jit`'s refuses it."""
    if (dynamo := sys.modules.get("torch._dynamo")) is None:
        yield
        return
    with dynamo.config.patch(error_on_nested_fx_trace=False):
        yield


@contextlib.contextmanager
def computed_in_half() -> Generator[None]:
    """While it lasts, torch's decompositions compute float16 and bfloat16 in themselves, without casts to float32."""
    import torch
    from torch import _prims_common as common

    given: Any = common
    before = given._computation_dtype_map
    given._computation_dtype_map = {dtype: dtype for dtype in (torch.bfloat16, torch.float16, torch.complex32)}
    try:
        yield
    finally:
        given._computation_dtype_map = before


def physical_order(tensor: Any) -> list[int]:
    """The dims of a tensor in the order of its memory, the outermost first, as elementwise operators take it."""
    from torch import _prims_common as common

    return list(common.compute_elementwise_output_logical_to_physical_perm(tensor)[0])


@contextlib.contextmanager
def called_as_written() -> Generator[None]:
    """While it lasts, what `torch.compile` has made runs eagerly. Not within a compilation.

    But for what eager PyTorch compiles itself: calls of branches, loops and scans take structures of tensors by that.
    """
    if "torch._dynamo" not in sys.modules:
        yield
        return
    import torch
    from torch._higher_order_ops import utils

    stance, prepared = torch.compiler.set_stance, utils.setup_compilation_env

    @contextlib.contextmanager
    def compiling() -> Generator[Any]:
        with stance("default"), prepared() as backend:
            yield backend

    utils.setup_compilation_env = compiling
    try:
        with stance("force_eager"):
            yield
    finally:
        utils.setup_compilation_env = prepared


def viewed(tensor: torch.Tensor) -> torch.Tensor | None:
    """What a tensor is a view of; None where it is none."""
    return tensor._base


def position(node: Any) -> Any:
    """Where an FX node stands in its graph, to be compared."""
    return getattr(node, "_sort_key", None) or (0,)


def parameters(operator: Any) -> dict[str, Any]:
    """The names of what an operator takes, in order, with their defaults, None where there are none."""
    return {one.name: one.default_value for one in operator._schema.arguments}


def returns_view(target: Any) -> bool:
    """Whether the only result of an operator is a view of an argument, or the argument, by its schema."""
    returns = target._schema.returns if has_schema(target) else ()
    return len(returns) == 1 and returns[0].alias_info is not None


def defaults(operator: Any, given: int) -> dict[str, Any]:
    """What an operator takes by default, by name, of the arguments behind the first `given`."""
    left = operator._schema.arguments[given:]
    return {one.name: one.default_value for one in left if one.has_default_value()}


def by_name(operator: Any, given: Sequence[Any], named: Mapping[str, Any]) -> dict[str, Any]:
    """All arguments of a call of an operator by their names, in its order, with what it takes by default."""
    names = [one.name for one in operator._schema.arguments]
    found = {**dict(zip(names, given, strict=False)), **defaults(operator, len(given)), **named}
    return {name: found[name] for name in names if name in found}


def has_schema(target: Any) -> bool:
    """Whether what an FX node calls is an operator, and no function."""
    return hasattr(target, "_schema")


def writes(target: Any) -> bool:
    """Whether an operator writes into one of its arguments."""
    return has_schema(target) and target._schema.is_mutable


def overload_name(target: Any) -> str:
    """`Tensor` of `aten.add.Tensor`."""
    return target._overloadname


def has_cpu_kernel(name: str) -> bool:
    """Whether an operator, as `aten::mm.dtype`, is implemented for the CPU."""
    import torch

    return torch._C._dispatch_has_kernel_for_dispatch_key(name, "CPU")  # pyright: ignore[reportPrivateUsage]


def boxed(function: Any) -> Any:
    """A compiled function, said to take its arguments as one list, which it may empty."""
    function._boxed_call = True
    return function


def tensor_places(module: torch.nn.Module) -> tuple[dict[str, Any], ...]:
    """Where a module keeps its own parameters and buffers by name; one of TorchScript keeps them in C++."""
    places = cast("tuple[Any, Any]", (module._parameters, module._buffers))  # pyright: ignore[reportPrivateUsage]
    return tuple(one for one in places if isinstance(one, dict))


def tensor_parameters(operator: Any) -> tuple[bool, ...]:
    """Which of an operator's parameters take a tensor, and must, in order."""
    return tuple(str(parameter.type) == "Tensor" for parameter in operator._schema.arguments)


def kernels() -> list[tuple[Any, dict[Any, Any], Any]]:
    """PyTorch's composite operators, each with its kernels of Python and its rule for fake tensors.

    `ExportedProgram.run_decompositions` writes to them; none are given before torch.export is imported.
    """
    utils, rules = sys.modules.get("torch._export.utils"), sys.modules.get("torch._subclasses.fake_impls")
    operators = getattr(utils, "_collect_all_valid_cia_ops_for_aten_namespace", None)
    known: dict[Any, Any] | None = getattr(rules, "op_implementations_dict", None)
    if operators is None or known is None:
        return []  # another thread may be importing it
    return [(operator, dict(operator.py_kernels), known.get(operator)) for operator in operators()]


def put_back_kernels(before: list[tuple[Any, dict[Any, Any], Any]]) -> None:
    """Give operators the kernels and rules that `kernels` gave."""
    for operator, those, rule in before:
        if operator.py_kernels == those:
            continue
        operator.py_kernels.clear()
        operator.py_kernels.update(those)
        operator._dispatch_cache.clear()
        if rule is None:
            sys.modules["torch._subclasses.fake_impls"].op_implementations_dict.pop(operator, None)


def mode_depths() -> tuple[int, int]:
    """How many modes there are that see every operation (fake tensors, tracing): of dispatch, of functions."""
    native: Any = sys.modules.get("torch._C")
    if native is None or not hasattr(native, "_len_torch_function_stack"):
        return 0, 0  # another thread may be importing it
    return native._len_torch_dispatch_stack(), native._len_torch_function_stack()


def pop_modes(depths: tuple[int, int]) -> None:
    """Take modes off until there are as many as `mode_depths` said."""
    from torch.overrides import _pop_mode  # pyright: ignore
    from torch.utils._python_dispatch import _pop_mode as _pop_dispatch  # pyright: ignore

    pops: tuple[Callable[[], object], ...] = (_pop_dispatch, _pop_mode)
    for index, pop in enumerate(pops):
        while mode_depths()[index] > depths[index]:
            pop()


@contextlib.contextmanager
def traceback_filter(keep: Callable[[Any, Any], Any]) -> Generator[None]:
    """While it lasts, torch's tracers keep of a call stack what `keep(tracer, stack)` gives."""
    from torch.fx.proxy import TracerBase

    tracer: Any = TracerBase
    original = tracer._filter_traceback_frames
    tracer._filter_traceback_frames = keep
    try:
        yield
    finally:
        tracer._filter_traceback_frames = original


_BATCH_NORMS = frozenset(f"aten::{name}" for name in ("native_batch_norm", "cudnn_batch_norm", "miopen_batch_norm"))
"""Operators that write into statistics when they train, of which their schemas say nothing."""


def written_arguments(operator: Any, args: Any, kwargs: Any) -> list[Any]:
    """The arguments that an operator writes into, by its schema; all where it has none."""
    schema = getattr(operator, "_schema", None)
    if schema is None:
        return [*args, *kwargs.values()]
    given = {one.name: args[at] if at < len(args) else kwargs.get(one.name) for at, one in enumerate(schema.arguments)}
    said = [one.name for one in schema.arguments if one.alias_info is not None and one.alias_info.is_write]
    if schema.name in _BATCH_NORMS and given["training"]:
        said += ["running_mean", "running_var"]
    return [given[name] for name in dict.fromkeys(said)]


def is_inplace_view(operator: Any) -> bool:
    """Whether what an operator changes of its argument is its shape and strides, no values."""
    import torch

    return torch.Tag.inplace_view in getattr(operator, "tags", ())


def is_random(operator: Any) -> bool:
    """Whether an operator draws from the random generator."""
    import torch

    return torch.Tag.nondeterministic_seeded in getattr(operator, "tags", ())


def is_mutable(operator: Any) -> bool:
    """Whether an operator's schema says that it writes into an argument; False for what is no operator."""
    return bool(getattr(getattr(operator, "_schema", None), "is_mutable", False))


def dispatch_modes() -> list[Any]:
    """The modes for operators that are on in this thread."""
    from torch.utils._python_dispatch import _get_current_dispatch_mode_stack as modes  # pyright: ignore

    return list(modes())


def plain_triton_kernels() -> contextlib.AbstractContextManager[None]:
    """While it lasts, `torch.library.wrap_triton(kernel)` launches the kernel itself, with no operator around it."""
    from torch._library.triton import set_wrap_triton_enabled

    return set_wrap_triton_enabled(False)


@contextlib.contextmanager
def comparisons_wrapped(wrap: Callable[[Callable[..., list[Any]]], Callable[..., list[Any]]]) -> Generator[None]:
    """While it lasts, what `torch.testing.assert_close` finds wrong, a list, is what `wrap` of its finder gives.

    However it was imported, for it looks its finder up when it is called.
    """
    from torch.testing import _comparison  # pyright: ignore[reportPrivateUsage]

    homes: list[Any] = [_comparison, sys.modules.get("torch.testing._internal.common_utils")]
    homes = [home for home in homes if hasattr(home, "not_close_error_metas")]
    original: Any = _comparison.not_close_error_metas
    for home in homes:
        home.not_close_error_metas = wrap(original)
    try:
        yield
    finally:
        for home in homes:
            home.not_close_error_metas = original
