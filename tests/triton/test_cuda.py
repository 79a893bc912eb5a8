"""What `torch.cuda` and its siblings answer in a cell without a GPU."""

from __future__ import annotations

import copy
import inspect
import io
import math
import pickle
from typing import Any

import numpy as np
import pytest
import torch
import triton

from irwidget.errors import IRWidgetError, UnsupportedError
from irwidget.frontends.triton.device import pretend
from irwidget.toolchain.triton_archs import find

SM90 = find("sm_90")
GIVEN = {"new_state": torch.zeros(16, dtype=torch.uint8), "new_states": (), "callables": abs}
"""Arguments of functions of `torch.cuda`, by name; for all others 0 will do."""
CALLS = {
    name: [
        GIVEN.get(one.name, 0)
        for one in inspect.signature(getattr(torch.cuda, name)).parameters.values()
        if one.default is one.empty and one.kind is one.POSITIONAL_OR_KEYWORD
    ]
    for name in torch.cuda.__all__
    if inspect.isfunction(getattr(torch.cuda, name))
}


@pytest.mark.parametrize("values", [False, True], ids=["shapes", "values"])
def test_every_function_answers_or_says_that_there_is_no_gpu(values: bool):
    refused: list[str] = []
    said: list[str] = []
    with pretend(SM90, values=values):
        for name, arguments in CALLS.items():
            try:
                getattr(torch.cuda, name)(*arguments)
            except IRWidgetError as error:
                refused.append(name)
                said.append(str(error))
    assert all(f"torch.cuda.{name} asks a GPU" in one for name, one in zip(refused, said, strict=True))
    assert {"memory_summary", "current_blas_handle"} <= set(refused)
    assert not {"get_rng_state", "initial_seed", "memory_stats", "current_stream"} & set(refused)


def test_all_is_put_back():
    def state() -> list[object]:
        homes = (torch.cuda, torch.cuda.random, torch.cuda.memory, torch.cuda.profiler, torch.accelerator, torch.Tensor)
        return [value for home in homes for value in vars(home).values()]

    before = state()
    with pretend(SM90):
        assert state() != before
    after = state()
    assert len(after) == len(before)
    assert all(one is other for one, other in zip(before, after, strict=True))


def test_the_default_generator_has_a_seed_and_an_offset():
    told: list[str] = []
    with pretend(SM90, tell=told.append):
        (generator,) = torch.cuda.default_generators
        torch.manual_seed(5)
        seed, offset = generator.get_state().view(torch.int64)
        assert (int(seed), int(offset)) == (5, 0)
        torch.cuda.manual_seed(-3)
        generator.set_offset(8)
        kept = torch.cuda.get_rng_state()
        assert kept.view(torch.int64).tolist() == [-3, 8]
        assert torch.cuda.initial_seed() == (1 << 64) - 3
        with torch.random.fork_rng():
            torch.cuda.manual_seed(1)
            assert generator.get_offset() == 0
        assert (torch.cuda.initial_seed(), generator.get_offset()) == ((1 << 64) - 3, 8)
        generator.set_state(torch.empty(16, dtype=torch.uint8))  # of which nothing is known
        assert (torch.cuda.random.initial_seed(), generator.get_offset()) == ((1 << 64) - 3, 8)
        assert torch.Generator("cuda").device.type == "cuda"
        assert torch.Generator().device.type == "cpu"
        assert torch.rand(4, generator=torch.Generator("cuda").manual_seed(1), device="cuda").shape == (4,)
    assert any("offset of the GPU's random generator" in one for one in told)


@pytest.mark.parametrize("values", [False, True], ids=["shapes", "values"])
def test_tensors_are_on_the_gpu(values: bool):
    with pretend(SM90, values=values):
        x = torch.ones(4, pin_memory=True).pin_memory().to("cuda", non_blocking=True)
        x.record_stream(torch.cuda.current_stream())
        assert (x.is_cuda, x.is_cpu, x.device.type) == (True, False, "cuda")
        assert isinstance(x, torch.cuda.FloatTensor)
        assert torch.accelerator.current_accelerator() == torch.device("cuda")
        torch.accelerator.synchronize()
        assert x.tolist() == [1.0] * 4
        host = [x.cpu(), x.to("cpu", torch.float16), torch.zeros(4, device="cpu"), torch.from_numpy(np.ones(4))]
        host += [torch.zeros_like(host[0]), host[2][1:] + 1, torch.ones(2, device=host[3].device), host[0].half()]
        host.append(torch.nn.Linear(2, 2).cuda().cpu().weight)
        assert [(one.is_cuda, one.is_cpu, one.device.type, one.get_device()) for one in host] == 9 * [
            (False, True, "cpu", -1)
        ]
        named_nowhere = torch.randn(4), torch.nn.Linear(2, 2).weight
        for one in (x * 2, x + host[0].sum(), host[0].cuda(), host[3].to(x.device), *named_nowhere):
            assert (one.is_cuda, one.is_cpu, one.device, one.get_device()) == (True, False, x.device, 0)
        torch.testing.assert_close(x, host[0])  # what the CPU has is compared with what the cell made of no device


HISTOGRAMS = [
    ([3, 0, 3, 7, 8, -1], {"bins": 8, "min": 0, "max": 7}),
    ([3, 0, 3, 7, 8, 4], {}),
    ([5, 5], {"bins": 4}),
    ([0, 1, 5, 9, 10], {"bins": 3, "max": 10}),
]


@pytest.mark.parametrize("values", [False, True], ids=["shapes", "values"])
def test_integers_are_counted_as_floats_are(values: bool):
    """As PyTorch does on a GPU, and not on the CPU."""
    for numbers, how in HISTOGRAMS:
        expected = torch.tensor(numbers, dtype=torch.float64).histc(**how).tolist()
        with pretend(SM90, values=values):
            for kind in (torch.int8, torch.int32, torch.int64):
                given = torch.tensor(numbers, dtype=kind, device="cuda")
                counts = torch.histc(given, **how)
                assert (counts.dtype, counts.is_cuda, counts.tolist()) == (kind, True, expected)
                assert given.histc(**how).tolist() == expected


def test_streams_and_events_of_no_device_are_the_gpus():
    with pretend(SM90):
        start, end = torch.Event(enable_timing=True), torch.Event("cuda", enable_timing=True)
        for stream in (torch.Stream(device="cuda"), torch.Stream(), torch.cuda.Stream()):
            with stream:
                start.record(stream)
                stream.wait_event(start)
            end.record()
        torch.accelerator.memory.empty_host_cache()
        torch.accelerator.memory.empty_cache()
        assert math.isnan(start.elapsed_time(end))
        assert (stream.device.type, start.device.type, end.query()) == ("cuda", "cuda", True)


class Wrapped(torch.Tensor):
    """A tensor around another one."""

    def __new__(cls, inner: torch.Tensor) -> Any:
        return torch.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype, device=inner.device)

    def __init__(self, inner: torch.Tensor) -> None:
        self.inner = inner

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*[one.inner if isinstance(one, Wrapped) else one for one in args], **(kwargs or {}))


@pytest.mark.parametrize("values", [False, True], ids=["shapes", "values"])
def test_tensors_around_others_are_on_the_gpu(values: bool):
    with pretend(SM90, values=values):
        x = Wrapped(torch.arange(4.0, device="cuda").reshape(2, 2))
        assert (x.device.type, x[1].tolist(), (x + 1).tolist()) == ("cuda", [2.0, 3.0], [[1.0, 2.0], [3.0, 4.0]])


@pytest.mark.parametrize("values", [False, True], ids=["shapes", "values"])
def test_tensors_are_saved_loaded_and_copied_with_their_values(values: bool):
    with pretend(SM90, values=values):
        x = torch.arange(3.0, device="cuda") * 2
        file, layer = io.BytesIO(), torch.nn.Linear(2, 2).cuda()
        torch.save({"x": x, "layer": layer.state_dict()}, file)
        for place in (None, "cuda", "cuda:0", torch.device("cuda"), "cpu"):
            file.seek(0)
            found = torch.load(file, map_location=place)
            layer.load_state_dict(found["layer"])
            assert found["x"].tolist() == (found["x"] / 2 + x / 2).tolist() == [0.0, 2.0, 4.0]
        shared, parameter = copy.copy(x), copy.copy(layer.weight)
        one, other = pickle.loads(pickle.dumps(x)), copy.deepcopy(x)
        x.zero_()
        assert [y.tolist() for y in (shared, one, other)] == [[0.0] * 3, [0.0, 2.0, 4.0], [0.0, 2.0, 4.0]]
        assert (isinstance(parameter, torch.nn.Parameter), parameter.requires_grad) == (True, True)


def test_no_number_is_made_up():
    with pretend(SM90):
        assert math.isnan(torch.cuda.max_memory_allocated() / 2**20)
        assert math.isnan(torch.cuda.memory_stats()["allocated_bytes.all.peak"])
        sizes = (*torch.cuda.mem_get_info(), torch.cuda.get_device_properties().total_memory)
        assert all(map(math.isnan, (*sizes, triton.testing.get_dram_gbps())))
        properties = torch.cuda.get_device_properties(0)
        assert not hasattr(properties, "uuid")
        with pytest.raises(UnsupportedError, match="uuid"):
            properties.uuid  # noqa: B018
        with pytest.raises(UnsupportedError, match="cudaHostRegister"):
            torch.cuda.cudart().cudaHostRegister(0, 1, 0)
        with torch.cuda.graph(torch.cuda.CUDAGraph()):
            assert torch.cuda.is_current_stream_capturing()
        assert not torch.cuda.is_current_stream_capturing()


def test_what_a_graph_may_write_is_forgotten():
    with pretend(SM90):
        for graph in (torch.cuda.CUDAGraph(), torch.accelerator.Graph()):
            known = torch.zeros(4, device="cuda")
            assert known.tolist() == [0.0] * 4
            graph.replay()
            with pytest.raises(Exception, match="a CUDA graph, which is not replayed"):
                known.tolist()
        other = torch.zeros(4, device="cuda")
        with torch.accelerator.Graph() as captured:
            known = torch.ones(4, device="cuda").mul_(2)
        captured.replay()
        assert other.tolist() == [0.0] * 4
        with pytest.raises(Exception, match="a CUDA graph, which is not replayed"):
            known.tolist()


@pytest.mark.parametrize(
    ("arch", "threads", "of_sm", "block", "whole"),
    [
        ("sm_75", 1024, None, 49152, 65536),
        ("sm_90", 2048, None, 49152, 233472),
        ("sm_120", 1536, None, 49152, 102400),
        ("gfx950", 2048, 2048, 163840, 163840),
        ("gfx1100", None, None, 65536, 65536),
    ],
)
def test_properties_are_the_architectures_and_no_others(
    arch: str, threads: int | None, of_sm: int | None, block: int, whole: int
):
    given: Any = torch
    with pretend(find(arch)):
        found = torch.cuda.get_device_properties(0)
        with given.cuda._DeviceGuard(0), torch.cuda.device(0):  # as Inductor's host modules do
            assert given._C._cuda_getCurrentRawStream(0) == torch.cuda.current_stream().cuda_stream
            made = given._C._dynamo.guards._empty_strided_cuda((2, 3), (1, 2), torch.float16)
        assert (made.shape, made.stride(), made.dtype, made.is_cuda) == ((2, 3), (1, 2), torch.float16, True)
        native = arch != "sm_75"
        assert triton.runtime.driver.active.utils.get_device_properties(0).get("max_threads_per_sm") == of_sm
        assert (torch.cuda.is_bf16_supported(), torch.cuda.is_bf16_supported(False)) == (True, native)
    assert getattr(found, "max_threads_per_multi_processor", None) == threads
    assert (found.shared_memory_per_block, found.shared_memory_per_multiprocessor) == (block, whole)
    assert not hasattr(found, "L2_cache_size")
