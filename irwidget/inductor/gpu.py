"""Inductor on a GPU that is not there: what it asks PyTorch and Triton, answered for an architecture.

All of it is in a copy of the kernel that ends with the compilation, so nothing is put back.

The program is traced on the CPU, as it is; then its graph moves to the GPU. From there on Python sees every fake tensor
on the GPU: decompositions, meta functions, passes and code generation. PyTorch's C++ goes on seeing them on the CPU,
because its autograd engine asks a CPU build of PyTorch for streams that it does not have.
"""

from __future__ import annotations

import contextlib
from collections.abc import Generator, Sequence
from functools import partial
from types import SimpleNamespace
from typing import Any

import torch
from torch.fx.node import map_aggregate

from irwidget.devices import on_cpu, on_cpu_kwargs
from irwidget.inductor import attention, private
from irwidget.private_torch import TorchDispatchMode
from irwidget.toolchain import triton_private
from irwidget.toolchain.device_properties import bfloat16_supported, capability, device_properties
from irwidget.toolchain.triton_archs import Arch

CPU, GPU = torch.device("cpu"), torch.device("cuda", 0)
_DEVICE = torch.ops.prim.device.default


class _Device:
    """torch.cuda.device, which Inductor enters and asks for the type of."""

    def __init__(self, *_: Any) -> None:
        pass

    def __enter__(self) -> _Device:
        return self

    def __exit__(self, *_: Any) -> None:
        pass


def install(arch: Arch) -> None:
    """Have PyTorch and Triton answer as on a machine with a GPU of this architecture, for the rest of this process."""
    shown = device_properties(arch)

    def there(*_: Any, **__: Any) -> Any:
        return shown

    def nothing(*_: Any, **__: Any) -> None:
        return None

    answers: dict[str, Any] = {
        "is_available": lambda: True,
        "is_initialized": lambda: True,
        "device_count": lambda: 1,
        "current_device": lambda: 0,
        "set_device": nothing,
        "synchronize": nothing,
        "_lazy_init": nothing,
        "get_device_properties": there,
        "get_device_capability": lambda device=None: capability(arch),
        "get_device_name": lambda device=None: shown.name,
        "is_bf16_supported": partial(bfloat16_supported, arch),
        "get_rng_state": lambda *a, **k: torch.get_rng_state(),
        "set_rng_state": nothing,
        "device": _Device,
    }
    cuda: Any = torch.cuda
    for name, value in answers.items():
        setattr(cuda, name, value)
    interface = private.get("cuda_interface")
    for name in ("get_device_properties", "current_device", "device_count", "set_device", "synchronize",
                 "is_bf16_supported"):  # fmt: skip
        setattr(interface, name, staticmethod(answers[name]))
    interface.device = _Device
    interface.Worker.get_device_properties = staticmethod(there)
    version: Any = torch.version
    version.cuda, version.hip = (None, "6.4.0") if arch.backend == "hip" else ("12.8", None)
    private.forget_the_machine()
    setattr(triton_private.driver_config(), triton_private.ACTIVE_DRIVER, _driver(arch))
    private.put("set_driver_to_gpu", lambda: None)
    private.wrap("fold_constants", _folding)
    private.wrap("fold_zeros", _folding)
    private.put("make_benchmark_fn", lambda *_, **__: _untimed)
    private.put("make_precompile_fn", lambda *_, **__: dict)
    for name in ("cudagraph_post_compile", "cudagraph_partition_post_compile", "caching_allocator"):
        private.put(name, nothing)
    private.config(private.INDUCTOR).benchmark_epilogue_fusion = False
    private.launch_with(_unlaunched)
    import triton

    for kind in (triton.JITFunction, triton.runtime.Autotuner):
        setattr(kind, "run", _unlaunched_within)  # noqa: B010
    _fakes()


unlaunched: dict[str, None] = {}
"""Triton kernels of the user's that a graph would have launched."""


def _unlaunched(*, kernel_idx: int, **_: Any) -> None:
    _note(private.get("kernel_side_table").get_kernel(kernel_idx))


def _unlaunched_within(kernel: Any, *_: Any, **__: Any) -> None:
    """The same of what an operator of the user's (`triton_op`) launches when it runs as it is."""
    _note(kernel)


def _note(kernel: Any) -> None:
    while not hasattr(kernel, "__name__"):  # what tunes it
        kernel = kernel.fn
    unlaunched[kernel.__name__] = None


def _driver(arch: Arch) -> Any:
    """Triton's driver for the GPU."""
    return SimpleNamespace(
        get_current_target=lambda: triton_private.gpu_target(arch),
        get_current_device=lambda: 0,
        get_active_torch_device=lambda: GPU,
        get_device_interface=lambda: torch.cuda,
        get_benchmarker=lambda: None,
    )


untimed: list[str] = []
"""What was taken among several ways to compute one operation, without a GPU to time them on."""


def _untimed(choices: Any) -> dict[Any, float]:
    """Timings by which the first of Triton's templates wins, where there is one."""
    templates = [one for one in choices if "Extern" not in type(one).__name__]
    order = [*templates, *(one for one in choices if one not in templates)]
    untimed.append(str(getattr(order[0], "name", "")))
    return {one: float(number + 1) for number, one in enumerate(order)}


class MovedToCpu(TorchDispatchMode):
    """What is computed for real, constants that are folded, is computed on the CPU."""

    supports_higher_order_operators = True

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*map(_inside, map(on_cpu, args)), **on_cpu_kwargs(kwargs))


def _inside(value: Any) -> Any:
    """A graph that an operator calls, a branch or the body of a loop, as one that is computed there, too."""
    if not isinstance(value, torch.fx.GraphModule):
        return value

    def call(*args: Any) -> Any:
        with MovedToCpu():
            return value(*args)

    return call


def _folding(original: Any) -> Any:
    def run(*args: Any, **kwargs: Any) -> Any:
        with MovedToCpu():
            return original(*args, **kwargs)

    return run


_moved = [0]
"""How many compilations of moved graphs are under way."""
_results: dict[Any, Any] = {}
"""What fake operations have returned meanwhile: tensors that are made on no device are on the GPU then."""


def _fakes() -> None:
    """While a moved graph is compiled: fake tensors are on the GPU for Python, on the CPU for C++."""

    def normalised(original: Any) -> Any:
        def normalise(device: Any) -> Any:
            found = original(device)
            return GPU if _moved[0] and found.type == "cpu" else found

        return staticmethod(normalise)

    def dispatching(original: Any) -> Any:
        def dispatch(cls: Any, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            answer = original.__func__(cls, func, types, args, kwargs or {})
            return _for_engine(answer) if func is _DEVICE else answer

        return classmethod(dispatch)

    private.wrap("run_fallback_kernel", _falling_back)
    private.wrap("normalize_fake_device", normalised)
    private.wrap("fake_dispatch", dispatching)
    private.wrap("fake_mode_dispatch", _constants)
    private.put("init_gpu_context", lambda device: None)
    handlers = private.get("meta_handlers")
    asked = handlers[_DEVICE]
    handlers[_DEVICE] = lambda args: _for_engine(asked(args))


def _constants(original: Any) -> Any:
    """A tensor of values that goes to the GPU stays one of values: they are computed where they are."""

    def dispatch(mode: Any, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if _moved[0] and kwargs and "device" in kwargs and args and getattr(args[0], "constant", None) is not None:
            kwargs = on_cpu_kwargs(kwargs)
        return original(mode, func, types, args, kwargs or {})

    return dispatch


def _falling_back(original: Any) -> Any:
    """What no rule says the result's shape of is run, on zeros: on those of the CPU."""
    from irwidget.private_torch import pytree

    def run(mode: Any, func: Any, flat_args: Sequence[Any], *rest: Any) -> Any:
        moved = [one for one in flat_args if getattr(one, "fake_device", CPU).type == "cuda"]
        compiling, _moved[0] = _moved[0], 0
        for one in moved:
            one.fake_device = CPU
        try:
            answer = original(mode, func, flat_args, *rest)
        finally:
            _moved[0] = compiling
            for one in moved:
                one.fake_device = GPU
        return pytree.tree_map(on_gpu, answer)

    return run


def _for_engine(device: Any) -> Any:
    return CPU if _moved[0] and device.type == "cuda" else device


@contextlib.contextmanager
def moved(module: Any, inputs: list[Any]) -> Generator[list[Any]]:
    """Move Dynamo's graph to the GPU for the time of its compilation; gives its inputs there, as fake tensors."""
    context = private.get("TracingContext").get()
    mode: Any = context.fake_mode
    from_tensor = mode.from_tensor

    def fake(tensor: Any, *args: Any, **kwargs: Any) -> Any:
        return on_gpu(from_tensor(tensor, *args, **kwargs))

    mode.from_tensor = fake
    given: list[Any] = []
    for one in inputs:
        if isinstance(one, torch.Tensor) and not hasattr(one, "fake_mode"):
            known = context.tensor_to_context.get(one)  # the symbols that Dynamo has for its sizes, and their source
            one = mode.from_tensor(one, symbolic_context=known, source=known.tensor_source if known else None)
        given.append(on_gpu(one))
    relabel(module)
    results = private.swap_fake_results(mode.shape_env, (_results, {}))
    _moved[0] += 1
    F: Any = torch.nn.functional
    attend, F.scaled_dot_product_attention = F.scaled_dot_product_attention, attention.scaled_dot_product_attention
    try:
        yield given
    finally:
        F.scaled_dot_product_attention = attend
        _moved[0] -= 1
        private.swap_fake_results(mode.shape_env, results)
        mode.from_tensor = from_tensor


def on_gpu(value: Any) -> Any:
    """A fake tensor of the CPU, which now is on the GPU, as are those that a tensor subclass is made of."""
    if isinstance(value, torch.Tensor):
        found: Any = value
        if getattr(found, "fake_device", None) == CPU:
            found.fake_device = GPU
        elif hasattr(found, "__tensor_flatten__"):
            for name in found.__tensor_flatten__()[0]:
                on_gpu(getattr(found, name))
    return value


_FROM_VALUES = (torch.tensor, torch.as_tensor)
"""What makes a real tensor of values, below all modes, and would copy it to a real GPU: it becomes a fake one there."""


def relabel(module: Any) -> None:
    """Have all devices in a graph, its subgraphs and what is known of its values be the GPU."""
    from irwidget.private_torch import pytree

    def device(value: Any) -> Any:
        return GPU if isinstance(value, torch.device) and value.type == "cpu" else value

    for part in module.modules():
        if isinstance(part, torch.fx.GraphModule):
            for node in part.graph.nodes:
                if node.target in _FROM_VALUES:
                    continue
                node.args = map_aggregate(node.args, device)  # pyright: ignore[reportAttributeAccessIssue]
                node.kwargs = map_aggregate(node.kwargs, device)  # pyright: ignore[reportAttributeAccessIssue]
                for key in ("val", "example_value"):
                    for leaf in pytree.tree_leaves(node.meta.get(key)):
                        on_gpu(leaf)
            part.recompile()
