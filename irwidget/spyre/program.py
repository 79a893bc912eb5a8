"""SpyreProgram: everything that compiling decided, as plain data, and the views of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from irwidget import display
from irwidget.lazy import cached_property
from irwidget.spyre.bundlemlir import bundle_mlir
from irwidget.spyre.bundling import HostCall
from irwidget.spyre.division import Division
from irwidget.spyre.estimate import estimate
from irwidget.spyre.estimate_data import Estimate
from irwidget.spyre.host import host_module
from irwidget.spyre.ir import Graph, Op
from irwidget.spyre.kernel import Execution, SpyreKernel
from irwidget.spyre.opspec import LoopSpec, OpSpec
from irwidget.spyre.options import SpyreSwitches
from irwidget.spyre.pool import Pool
from irwidget.spyre.restickify import LayoutChoice
from irwidget.spyre.scratchpad import Scratchpad
from irwidget.spyre.tiles import TiledOp, tiled_ops
from irwidget.trace import Trace

if TYPE_CHECKING:
    import torch

_EMPTY_CLASSES = {"constant": "SpyreConstantFallback", "fallback": "FallbackKernel", "multi_output": "MultiOutput"}


@dataclass(frozen=True)
class CompiledFrom:
    """What a program was compiled from, so that it can be compiled again with other options."""

    function: Any
    inputs: Any
    """With TensorSpecs in place of tensors: no data is kept alive."""
    again: Callable[..., SpyreProgram]
    """Compiles a function with inputs and options: what made the program."""


@dataclass(frozen=True)
class SpyreProgram:
    """A compiled function: the loop IR after every pass, its kernels, and why they are what they are."""

    name: str
    options: SpyreSwitches
    graph: Graph
    steps: tuple[SpyreKernel | HostCall, ...]
    """Kernels and host calls in launch order."""
    divisions: tuple[Division, ...]
    """How each op was divided over the cores: candidates of the cost model, and why cores stay idle."""
    layouts: LayoutChoice = field(repr=False)
    """What each restickify costs."""
    scratchpad: Scratchpad = field(repr=False)
    """What lies in LX, and for the rest why not."""
    pool: Pool = field(repr=False)
    trace: Trace = field(repr=False)
    bound: Mapping[str, torch.Tensor] = field(repr=False)
    """Values of parameters and captured constants by input name."""
    call_inputs: tuple[str, ...] = ()
    output_tree: Any = field(default=None, repr=False)
    captured: Any = field(default=None, repr=False)
    """The traced FX graph with its fake inputs."""
    shared_dims: Mapping[str, int] = field(default_factory=dict[str, int])
    """Named dims and their sizes."""
    origin: CompiledFrom | None = field(default=None, repr=False)
    recorded: str = ""
    """Of a program that was not compiled here, what it was read from."""

    def __repr__(self) -> str:
        ops = sum(len(step.specs) for step in self.steps if isinstance(step, SpyreKernel))
        calls = sum(isinstance(step, HostCall) for step in self.steps)
        kernels = f"{len(self.steps) - calls} kernels of {ops} ops"
        return f"<{type(self).__name__} {self.name}: {kernels}, {calls} host calls, {self.options.cores} cores>"

    @property
    def results(self) -> Mapping[str, Any]:
        """What there is to show beside the trace."""
        return {"program": self}

    @cached_property
    def tiled(self) -> Sequence[tuple[SpyreKernel, TiledOp]]:
        """The ops of the kernels in launch order, cut over the cores."""
        return list(tiled_ops(self.graph, self.kernels))

    def estimate(self) -> Estimate:
        """How long the program takes on the card: an estimate by documented figures, op by op, not a measurement."""
        return estimate(self, self.tiled)

    @property
    def kernels(self) -> tuple[SpyreKernel, ...]:
        return tuple(step for step in self.steps if isinstance(step, SpyreKernel))

    @cached_property
    def host(self) -> str:
        """The host module as Python source."""
        return host_module(self.graph, self.steps, self.pool.bytes)

    def run(self, *tensors: Any, rounding: bool = False) -> Any:
        """Execute the tiles of every core on the CPU, in float32, and return what the function returns.

        `rounding=True` rounds every stored element to its device format. Host ops run eagerly. Raises IRWidgetError
        when a tile breaks a rule of the memory.
        """
        from irwidget.spyre.execute import execute

        return execute(self, tensors, rounding=rounding)

    def to_dict(self) -> dict[str, Any]:
        """The program as JSON-able data: inputs, kernels with their ops and SuperDSC facts, and the loop IR."""
        return {
            "name": self.name,
            "semantics": self.options.semantics,
            "sencores": self.options.cores,
            "inputs": [
                {
                    "shape": list(i.size),
                    "dtype": i.dtype,
                    "dim_order": list(i.dim_order) if i.dim_order else None,
                    "device_layout": str(i.layout),
                }
                for i in self.graph.inputs
            ],
            "error": None,
            "kernels": [kernel_dict(kernel) for kernel in self.kernels],
            "op_level": [self._op_level(op) for op in self.graph.ops],
            "named_dims": dict(self.shared_dims),
            "loop_tree": [_tree_dict(spec) for kernel in self.kernels for spec in kernel.tree],
            "n_sdsc_files": [len(kernel.executions) for kernel in self.kernels],
        }

    def _op_level(self, op: Op) -> dict[str, Any]:
        entry: dict[str, Any] = {"op": op.name, "buf": op.buffer, "cls": _EMPTY_CLASSES.get(op.kind, "ComputedBuffer")}
        if op.kind == "empty" and op.rule == "tile":
            entry["cls"] = "SpyreEmptyFallback"
        if op.kind == "fallback":
            return entry
        buffer = self.graph.buffers[op.target]
        if not op.is_mutation:
            entry["device_layout"] = str(buffer.device)
            address = self.scratchpad.addresses.get(op.target)
            entry["allocation"] = {} if address is None else {"lx": address}
        if entry["cls"] != "ComputedBuffer":
            return entry
        if op.kind == "empty":
            dims = [f"d{i}" for i in range(sum(n != 1 for n in buffer.size))]
            space, splits = dict.fromkeys(dims, "0"), dict.fromkeys(dims, 1)
        else:
            space, splits = {v: str(n) for v, n in op.space.items()}, {v: dict(op.splits).get(v, 1) for v in op.space}
        entry |= {"it_space": space, "splits": splits, "reduction_type": op.func if op.reduced else None}
        return entry

    def write(self, folder: str | Path) -> Path:
        """Write what a run leaves: for each kernel a folder with `bundle.mlir` and SuperDSC files, and `host.py`.

        `irwidget.spyre.open(folder)` reads it again. Raises UsageError when it cannot be written.
        """
        from irwidget.spyre.recorded.writing import write

        return write(self.host, self.kernels, folder)

    def to_html(self, path: str | Path | None = None) -> str:
        """One interactive page with the program and its passes, without kernel and network; written to `path`.

        Raises UsageError when it cannot be written.
        """
        return display.page([self], f"{self.name} for Spyre", path)

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        return display.mimebundle([self])

    def explain(self) -> str:
        """Why the program is what it is, op by op, as text."""
        from irwidget.spyre.printing import division_text, layouts_text, scratchpad_text

        return "\n\n".join(
            [
                layouts_text(self.graph, self.layouts),
                division_text(self.graph, self.divisions),
                scratchpad_text(self.graph, self.scratchpad),
            ]
        )


def kernel_dict(kernel: SpyreKernel) -> dict[str, Any]:
    """A kernel as JSON-able data."""
    first: dict[str, Execution] = {}
    for execution in kernel.executions:
        first.setdefault(execution.spec.source, execution)
    return {
        "name": kernel.name,
        "unimplemented": kernel.unimplemented or None,
        "ops": [op_dict(kernel, spec, first[spec.source]) for spec in kernel.specs],
        "bundle_mlir": bundle_mlir(kernel),
    }


def op_dict(kernel: SpyreKernel, spec: OpSpec, execution: Execution) -> dict[str, Any]:
    """An OpSpec with the facts of its SuperDSC."""
    return {
        "opspec_op": spec.op,
        "is_reduction": spec.is_reduction,
        "loop_depth": len(spec.loops),
        "iteration_space": {v: [str(n), s] for v, (n, s) in spec.iteration_space.items()},
        "op_info": {k: str(v) for k, v in spec.op_info.items()},
        "args": [
            {
                "io": "in" if arg.is_input else "out",
                "arg_index": arg.arg_index,
                "device_dtype": arg.device_dtype,
                "device_size": list(arg.device_size),
                "device_coordinates": [str(c) for c in arg.device_coordinates],
                "allocation": {arg.allocation[0]: arg.allocation[1]},
            }
            for arg in spec.args
        ],
        "sdsc": sdsc_facts(kernel.superdsc(execution)),
    }


def sdsc_facts(file: Mapping[str, Any]) -> dict[str, Any]:
    """The facts of a SuperDSC that a reader asks for first."""
    ((key, top),) = file.items()
    ((opfunc, dsc),) = top["dscs_"][0].items()
    compute = dsc["computeOp_"][0]
    cores = top["numCoresUsed_"]
    nodes = dsc["scheduleTree_"]
    constants = dsc["constantInfo_"] if isinstance(dsc["constantInfo_"], dict) else {}

    def without_name(sizes: Mapping[str, Any]) -> dict[str, Any]:
        return {k: v for k, v in sizes.items() if k != "name_"}

    return {
        "key": key,
        "opfunc": opfunc,
        "exUnit": compute["exUnit"],
        "dataFormat": compute["attributes_"]["dataFormat_"],
        "cores_used": cores,
        "splits": top["numWkSlicesPerDim_"],
        "N": without_name(dsc["N_"]),
        "per_core_tile": without_name(dsc["dataStageParam_"]["0"]["ss_"]),
        "coreIdToWkSlice_first4": {str(c): top["coreIdToWkSlice_"][str(c)] for c in range(min(4, cores))},
        "primaryDsInfo": dsc["primaryDsInfo_"],
        "labeledDs": [
            {
                "ds": d["dsName_"],
                "type": d["dsType_"],
                "scale": d["scale_"],
                "fmt": d["dataFormat_"],
                "mem": list(d["memOrg_"]),
            }
            for d in dsc["labeledDs_"]
        ],
        "backGap": {n["name_"]: n["backGapCore_"] for n in nodes if "backGapCore_" in n},
        "coordinateMasking": dsc["coordinateMasking_"],
        "constants": {c["name_"]: c["dataFormat_"] for c in constants.values()},
        "start_addr_core0_1": {
            n["name_"]: [n["startAddressCoreCorelet_"]["data_"].get(f"[{c}, 0, 0]") for c in (0, 1)] for n in nodes
        },
    }


def _tree_dict(spec: OpSpec | LoopSpec) -> dict[str, Any]:
    if isinstance(spec, LoopSpec):
        return {"loop": str(spec.count), "tiled": list(spec.tiled_symbols), "body": [_tree_dict(s) for s in spec.body]}
    return {"op": spec.op, "it": {v: [str(n), s] for v, (n, s) in spec.iteration_space.items()}}
