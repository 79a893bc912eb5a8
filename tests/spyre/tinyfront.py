"""An invented front end, small enough to read: a checkout that has what a front end is entered by, and little more."""

from __future__ import annotations

from pathlib import Path

PASSES = """
class CustomPreSchedulingPasses:
    def __init__(self):
        self.passes = [first, second]

    def __call__(self, graph):
        for one in self.passes:
            one(graph)


def first(graph):
    graph.operations.append(Operation("op1"))


def second(graph):
    from torch_spyre._inductor import config

    {3: fails, 4: refuses, 5: hangs, 6: aborts}.get(config.sencores, len)(str(graph))


class Unsupported(RuntimeError):
    pass


def fails(graph):
    1 / 0


def refuses(graph):
    raise Unsupported("nothing of this kind")


def hangs(graph):
    import time

    time.sleep(3600)


def aborts(graph):
    import os

    os.abort()


class Operation:
    def __init__(self, name):
        self.name = name

    def get_operation_name(self):
        return self.name

    def __str__(self):
        return "a tiny operation"


class Graph:
    def __init__(self, name):
        self.operations = [Operation(name)]
"""
"""Passes over a list of operations; the second fails in a way that depends on how many cores are asked for."""

HOST = """
from sympy import sympify
async_compile = None
tiny_0 = async_compile.sdsc('tiny_0', [
    OpSpec(op='add', is_reduction=False,
        iteration_space={sympify('c0'): (sympify('4'), 2), sympify('c1'): (sympify('128'), 1)},
        op_info={}, args=[
            TensorArg(is_input=True, arg_index=0, device_dtype=DataFormats.SEN169_FP16, device_size=[2, 4, 64],
                device_coordinates=[sympify('floor(c1/64)'), sympify('c0'), sympify('Mod(c1, 64)')],
                allocation={'hbm': 0}),
            TensorArg(is_input=False, arg_index=1, device_dtype=DataFormats.SEN169_FP16, device_size=[2, 4, 64],
                device_coordinates=[sympify('floor(c1/64)'), sympify('c0'), sympify('Mod(c1, 64)')],
                allocation={'hbm': 17179869184}),
        ]),
])

def call(args):
    arg0_1, = args
    assert_size_stride(arg0_1, (4, 128), (128, 1))
    layout = None
    buf0 = spyre_empty_with_layout((4, 128), (128, 1), torch.float16, SpyreTensorLayout(
        device_size=[2, 4, 64], stride_map=[64, 128, 1], device_dtype=DataFormats.SEN169_FP16))
    tiny_0.run(arg0_1, buf0)
    return (buf0,)
"""
"""A host module with one kernel of one op."""

INIT = """
import sys
import types
import torch
from torch_spyre._C import DataFormats, SpyreTensorLayout


def _autoload():
    torch.utils.rename_privateuse1_backend("spyre")
    device = types.ModuleType("spyre")
    device.is_initialized = device.is_available = lambda: True
    device.current_device, device.device_count = lambda: 0, lambda: 1
    torch._register_device_module("spyre", device)

    def named():
        from torch_spyre._inductor import propagate_named_dims

        return propagate_named_dims.said

    def compiled(graph, inputs):
        import os, shutil, subprocess, sys
        from torch_spyre._inductor import config, passes

        layout = inputs[0].device_tensor_layout()
        assert inputs[0].device.type == "spyre" and layout.device_size == [2, 4, 64], layout
        assert layout == SpyreTensorLayout([4, 128], [128, 1], torch.float16, [0, 1])
        assert layout.device_dtype is DataFormats.SEN169_FP16 and layout.elems_per_stick() == 64
        print("said by the front end")
        run = passes.CustomPreSchedulingPasses()
        hints = [node.meta["custom"] for node in graph.graph.nodes if node.meta.get("custom")]
        run(passes.Graph(f"op0 {hints} {named()}" if hints else "op0"))
        subprocess.run(["dxp_standalone", "--bundle", "-d", "."], check=True)
        folder = os.environ["TORCHINDUCTOR_CACHE_DIR"]
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, "host.py"), "w") as file:
            file.write(HOST.replace("(sympify('4'), 2)", f"(sympify('4'), {config.sencores})"))

    inductor = types.ModuleType("torch._inductor.compile_fx")  # to import the real one takes seconds
    inductor.compile_fx = compiled
    sys.modules[inductor.__name__] = inductor

"""


NAMED = """
said = []


def reset():
    said.clear()


def declare_tensor_dim(name, size):
    said.append((name, size))


def name_tensor_dims(tensor, names):
    said.append((tensor.device_tensor_layout().device_size, names))
"""
"""What is told of the dims of inputs."""


def checkout(folder: Path, init: str = INIT, named: str = NAMED) -> Path:
    """A checkout in `folder`; `init` is how it is entered, `named` how it is told of dims."""
    inductor = folder / "torch_spyre" / "_inductor"
    inductor.mkdir(parents=True)
    (folder / "torch_spyre" / "__init__.py").write_text(f"HOST = {HOST!r}\n{init}")
    (folder / "torch_spyre" / "version.py").write_text("__version__ = '0.tiny'\n")
    (inductor / "__init__.py").write_text("")
    (inductor / "config.py").write_text("sencores = 32\n")
    (inductor / "passes.py").write_text(PASSES)
    (inductor / "propagate_named_dims.py").write_text(named)
    return folder
