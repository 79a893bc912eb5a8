"""`torch.cuda` without a GPU: streams, events, graphs and what it answers for an architecture."""

from __future__ import annotations

import collections
import contextlib
from collections.abc import Callable, Generator, Iterator
from functools import partial
from typing import Any

import torch

from irwidget.errors import UnsupportedError
from irwidget.frontends.triton.failures import NotExecuted
from irwidget.frontends.triton.generators import DefaultGenerator, Seeded, random
from irwidget.frontends.triton.gpu import CUDA, followed, no_op
from irwidget.frontends.triton.measuring import Unmeasured
from irwidget.frontends.triton.memory import Memory
from irwidget.toolchain.device_properties import (
    NotThere,
    bfloat16_supported,
    capability,
    device_name,
    device_properties,
)
from irwidget.toolchain.triton_archs import Arch


class _Event:
    """torch.cuda.Event, and torch.Event, without a GPU: no time passes that could be measured."""

    event_id = cuda_event = 0
    device = CUDA

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        pass

    def record(self, stream: Any = None) -> None:
        pass

    def wait(self, stream: Any = None) -> None:
        pass

    def synchronize(self) -> None:
        pass

    def query(self) -> bool:
        return True

    def elapsed_time(self, other: Any) -> float:
        return Unmeasured()


class _Stream(_Event):
    """torch.cuda.Stream, and torch.Stream, without a GPU."""

    cuda_stream = stream_id = device_index = priority = 0
    device = CUDA
    device_type = 1  # of CUDA, among torch's kinds of devices

    def wait_stream(self, stream: Any) -> None:
        pass

    def wait_event(self, event: Any) -> None:
        pass

    def record_event(self, event: Any = None) -> _Event:
        return event or _Event()

    def __enter__(self) -> _Stream:
        return self

    def __exit__(self, *raised: object) -> None:
        pass


_GRAPH = "a CUDA graph, which is not replayed, may write it"


class _CudaGraph:
    """torch.cuda.CUDAGraph without a GPU: what is launched while it is captured is launched, once."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._captured: set[Memory] = set()
        self._forget = True
        """Whether nobody has said what it captures."""

    def replay(self) -> None:
        """Forgets what it writes. Raises NotExecuted where all tensors have values."""
        tape = followed()
        if tape is None:
            raise NotExecuted("a CUDA graph is not replayed without a GPU")
        if self._forget:
            tape.forget(_GRAPH)
        tape.unknown(self._captured, _GRAPH)

    def capture_begin(self, *args: Any, **kwargs: Any) -> None:
        self._forget = False
        if (tape := followed()) is not None:
            tape.watching.append(self._captured)

    def capture_end(self) -> None:
        """Forgets what was written. Raises NotExecuted where all tensors have values: here it was executed."""
        tape = followed()
        if tape is None:
            raise NotExecuted("a CUDA graph is captured, which writes nothing on a GPU, and here what it captures did")
        self.leave()
        tape.unknown(self._captured, _GRAPH)

    def leave(self) -> None:
        """What is written from now on is not captured."""
        if (tape := followed()) is not None:
            tape.watching = [one for one in tape.watching if one is not self._captured]

    def reset(self) -> None:
        pass

    def pool(self) -> tuple[int, int]:
        return 0, 0


class _AcceleratorGraph(_CudaGraph):
    """torch.accelerator.Graph without a GPU: a CUDA graph that is captured as a context."""

    def __enter__(self) -> _AcceleratorGraph:
        self.capture_begin()
        return self

    def __exit__(self, kind: object, *raised: object) -> None:
        if kind is None:
            self.capture_end()
        else:
            self.leave()

    def instantiate(self) -> None:
        pass


class _Captures:
    """Whether a CUDA graph is being captured."""

    def __init__(self) -> None:
        self._depth = 0

    @contextlib.contextmanager
    def graph(self, cuda_graph: Any = None, *args: Any, **kwargs: Any) -> Generator[Any]:
        """torch.cuda.graph without a GPU."""
        captured = cuda_graph if isinstance(cuda_graph, _CudaGraph) else _CudaGraph()
        captured.capture_begin()
        self._depth += 1
        try:
            yield cuda_graph
        finally:
            self._depth -= 1
            captured.leave()
        captured.capture_end()

    def capturing(self) -> bool:
        return self._depth > 0


class _Runtime:
    """torch.cuda.cudart(): CUDA's runtime, of which only the profiler's switches do nothing."""

    cudaProfilerStart = cudaProfilerStop = staticmethod(lambda *args: 0)  # CUDA's names

    def __getattr__(self, name: str) -> Any:
        raise NotThere(f"{name} is a function of CUDA's runtime, and there is no GPU")


_QUIET = """synchronize empty_cache set_device init set_stream ipc_collect reset_peak_memory_stats
    reset_accumulated_memory_stats reset_max_memory_allocated reset_max_memory_cached reset_peak_host_memory_stats
    reset_accumulated_host_memory_stats set_per_process_memory_fraction caching_allocator_enable set_sync_debug_mode
    """.split()
"""Functions that do nothing."""
_MEASURED = """memory_allocated max_memory_allocated memory_reserved max_memory_reserved memory_cached max_memory_cached
    utilization temperature power_draw clock_rate memory_usage device_memory_used""".split()
"""Functions that measure."""
_HOMES = (torch.cuda, torch.cuda.random, torch.cuda.memory, torch.cuda.streams, torch.cuda.graphs)
_ACCELERATORS = (
    torch.accelerator,
    *(vars(torch.accelerator)[n] for n in ("memory", "graphs") if hasattr(torch.accelerator, n)),
)
"""The modules that have these functions."""
_AS_THEY_ARE = """get_gencode_flags is_tf32_supported caching_allocator_disabled use_mem_pool""".split()
"""Functions that need no GPU, or are answered otherwise."""


def torch_cuda(
    arch: Arch, tell: Callable[[str], None] = lambda _: None, seeded: Seeded = lambda *_: None
) -> dict[str, Any]:
    """What `torch.cuda` answers; what it cannot answer raises UnsupportedError.

    `tell` is told what is not exact, `seeded` of seeds.
    """
    captures, runtime = _Captures(), _Runtime()
    answers: dict[str, Any] = {
        "is_available": lambda: True,
        "is_initialized": lambda: True,
        "device_count": lambda: 1,
        "current_device": lambda: 0,
        "get_device_name": lambda device=None: device_name(arch),
        "get_device_capability": lambda device=None: capability(arch),
        "get_device_properties": lambda device=None: device_properties(arch, total_memory=Unmeasured()),
        "get_arch_list": lambda: [arch.name],
        "is_bf16_supported": partial(bfloat16_supported, arch),
        "can_device_access_peer": lambda device, peer_device: False,
        "current_stream": lambda device=None: _Stream(),
        "default_stream": lambda device=None: _Stream(),
        "get_stream_from_external": lambda data_ptr, device=None: _Stream(),
        "get_sync_debug_mode": lambda: 0,
        "get_allocator_backend": lambda: "native",
        "mem_get_info": lambda device=None: (Unmeasured(), Unmeasured()),
        "memory_stats": lambda device=None: collections.defaultdict(Unmeasured),
        "device": _Device,
        "device_of": _nothing(),
        "stream": _nothing(),
        "Stream": _Stream,
        "ExternalStream": _Stream,
        "CUDAGraph": _CudaGraph,
        "graph": captures.graph,
        "graph_pool_handle": lambda: (0, 0),
        "is_current_stream_capturing": captures.capturing,
        "make_graphed_callables": lambda callables, *args, **kwargs: callables,
        "Event": _Event,
        **{name: getattr(torch, name) for name in dir(torch.cuda) if name.endswith("Tensor") and hasattr(torch, name)},
        "cudart": lambda: runtime,
        **random(DefaultGenerator(tell, seeded)),
        **{name: no_op() for name in _QUIET},  # each of its own: Dynamo knows functions by identity
        **{name: _unmeasured() for name in _MEASURED},
    }
    return {**{name: _refused(name) for name in _functions() if name not in answers}, **answers}


def torch_accelerator(arch: Arch) -> dict[str, Any]:
    """What `torch.accelerator` answers."""
    cuda = torch_cuda(arch)
    measured = {name: cuda[name] for name in _MEASURED if hasattr(torch.accelerator, name)}
    named = {
        "get_device_capability": cuda["get_device_capability"],
        "get_memory_info": cuda["mem_get_info"],
        "memory_stats": cuda["memory_stats"],
        "empty_host_cache": no_op(),
        "Graph": _AcceleratorGraph,
    }
    return {
        "is_available": lambda: True,
        "current_accelerator": lambda check_available=False: torch.device("cuda"),
        "device_count": lambda: 1,
        "current_device_index": lambda: 0,
        "current_device_idx": lambda: 0,
        "current_stream": lambda device=None: _Stream(),
        "device_index": _nothing(),
        "synchronize": no_op(),
        "empty_cache": no_op(),
        "set_device_index": no_op(),
        "set_device_idx": no_op(),
        "set_stream": no_op(),
        "reset_peak_memory_stats": no_op(),
        "reset_accumulated_memory_stats": no_op(),
        **measured,
        **{name: value for name, value in named.items() if hasattr(torch.accelerator, name)},
    }


def replacements(
    arch: Arch, tell: Callable[[str], None], seeded: Seeded = lambda *_: None
) -> Iterator[tuple[Any, str, Any]]:
    """Modules, names in them, and what stands there without a GPU."""
    for homes, answers in ((_HOMES, torch_cuda(arch, tell, seeded)), (_ACCELERATORS, torch_accelerator(arch))):
        for name, value in answers.items():
            original = getattr(homes[0], name)
            for home in homes:
                if getattr(home, name, None) is original:
                    yield home, name, value
    for name in ("start", "stop"):
        yield torch.cuda.profiler, name, no_op()
    yield torch.Tensor, "record_stream", no_op()
    yield torch, "Stream", _Stream
    yield torch, "Event", _Event


class _Device(contextlib.nullcontext[None]):
    """`torch.cuda.device`, of which there is one."""

    def __init__(self, device: Any) -> None:
        super().__init__()
        self.idx = 0


def _functions() -> list[str]:
    """The functions of torch.cuda that need a GPU."""
    public: list[str] = list(torch.cuda.__all__)
    kept = (*_AS_THEY_ARE, "StreamContext")
    return [
        name
        for name in public
        if name not in kept and callable(getattr(torch.cuda, name)) and not isinstance(getattr(torch.cuda, name), type)
    ]


def _refused(name: str) -> Callable[..., Any]:
    def refused(*args: Any, **kwargs: Any) -> Any:
        raise UnsupportedError(f"torch.cuda.{name} asks a GPU, and there is none. Leave it out of the cell")

    return refused


def _unmeasured() -> Callable[..., Unmeasured]:
    return lambda *args, **kwargs: Unmeasured()


def _nothing() -> Callable[..., Any]:
    return lambda *args, **kwargs: contextlib.nullcontext()
