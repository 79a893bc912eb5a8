"""Lower a Helion kernel: bind, emit, run the passes, and hold on to all that came out."""

from __future__ import annotations

import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from irwidget import display
from irwidget.errors import UsageError, near
from irwidget.helion import display as printing
from irwidget.helion import execute, fusion, legalization, linking, pipelines, stages, triton, triton_lines, verify
from irwidget.helion.binding import bind
from irwidget.helion.bound import Binding
from irwidget.helion.check import checked
from irwidget.helion.emission import emit
from irwidget.helion.passes import bytecode, shared_context
from irwidget.helion.programs import Programs, programs
from irwidget.helion.values import Emission
from irwidget.lazy import cached_property
from irwidget.toolchain import mlir
from irwidget.toolchain.run import Options, Source
from irwidget.trace import Computed, Diagnostic, Dump, Step, Trace, dump

TARGETS = ("helion_device_ir", "helion_mlir", "helion_triton", "llvm_mlir", "llvm_ir")


@dataclass(repr=False)
class HelionLowering:
    """A kernel lowered to one MLIR module, and everything on the way there."""

    binding: Binding
    emission: Emission
    aten: str
    trace: Trace
    """Device IR, normalised nodes, raw module, then one dump per pass."""
    bytecode: bytes
    """The final module, as MLIR bytecode."""
    seconds: dict[str, float]
    """`bind`, `emit` and `passes`."""
    said: tuple[Diagnostic, ...] = ()
    """What the last run has found: how often nodes were given positions outside of what they access."""

    @property
    def results(self) -> Mapping[str, Any]:
        """What there is to show beside the trace."""
        return {"kernel": self}

    @cached_property
    def module(self) -> Any:
        """The final module (`torch_mlir.ir` operation), in a context of the thread that first looks at it."""
        return mlir.parse(self.bytecode, shared_context()).operation

    @cached_property
    def shown(self) -> printing.AnnotatedText:
        """The final module as text, with the node of each line."""
        return printing.AnnotatedText(self.module, self.emission.nodes)

    @property
    def mlir(self) -> str:
        """The final module: `%t0`, `%blk_arg0`, ... for values, affine maps written out."""
        return self.shown.text

    @cached_property
    def links(self) -> tuple[linking.SourceLink, ...]:
        """For each Device IR node: the kernel's line, the node, and the lines of `mlir`."""
        return linking.links(self.emission.nodes.values(), self.shown.nodes)

    @cached_property
    def programs(self) -> tuple[Programs, ...]:
        """Which program of the launch computes which tile of each top-level loop: numbers, `text`, and a drawing."""
        return programs(self.binding)

    @property
    def device_ir(self) -> str:
        """Helion's Device IR as text."""
        return self.trace.dumps[0].text

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """What the compilers said, and the last run."""
        return (*self.trace.diagnostics, *self.said)

    @property
    def in_place(self) -> str:
        """The kernel's source with the MLIR of each line below it."""
        return linking.in_place(self.trace)

    def verify(self) -> str | None:
        """What is wrong with the module: None, or a message.

        Linalg and tosa go to stock mlir-opt with unregistered dialects refused
        (where it is installed), the others to the verifier of the torch-mlir wheel.
        """
        if not self.module.verify():
            return "the torch-mlir verifier refuses the module"
        left = verify.leftovers(self.module) if self.aten != "raw" else []
        if left:
            return f"not lowered: {', '.join(left)}"
        if self.aten in verify.STRICT and verify.mlir_opt() is not None:
            return verify.strict(self.mlir)
        return None

    def program(self, *, check_bounds: bool = False) -> execute.Executable:
        """The module with what it takes to run it. Raises UsageError where it cannot be taken to LLVM."""
        steps = _llvm_steps(self, check_bounds=check_bounds)
        return execute.Executable(
            self.binding.name,
            _executable(self),
            steps,
            self.emission.tensors,
            self.emission.scalars,
            tuple(self.emission.pointed),
        )

    def run(
        self,
        *tensors: Any,
        timeout: float = execute.TIMEOUT,
        opt_level: int = 2,
        check_bounds: bool | None = None,
        config: Any = None,
    ) -> Any:
        """Run the module on the CPU inside Helion's generated host function. Returns what the kernel returns.

        Without arguments, runs on those that the kernel was bound to. One bound with
        `static_shapes=False` takes other sizes, too, where no tile's shape depends
        on them. `opt_level` is LLVM's; 0 compiles ten times faster. With
        `check_bounds`, every access of memory is checked to lie inside its buffer;
        where nothing is said, if some are not known to before they run.
        `config` is another configuration, for a module with `open_tiles`. Positions
        outside of what they index, which the module itself keeps inside, are warnings.

        Raises:
            UsageError: meta tensors, or shapes that the module is not made for.
            ExportError: Helion cannot take the arguments.
            PassError: the module cannot be taken to LLVM.
            ToolError: the kernel crashed, took longer than `timeout` seconds, or left a buffer.
        """
        result, self.said = self.launch(tensors, timeout, opt_level, check_bounds, config)
        for diagnostic in self.said:
            warnings.warn(str(diagnostic), RuntimeWarning, stacklevel=2)
        return result

    def launch(
        self,
        tensors: Sequence[Any] = (),
        timeout: float = execute.TIMEOUT,
        opt_level: int = 2,
        check_bounds: bool | None = None,
        config: Any = None,
    ) -> tuple[Any, tuple[Diagnostic, ...]]:
        """As `run`, without warnings. Returns what the kernel returns, and what there is to say of the run.

        Raises:
            UsageError: meta tensors, or shapes that the module is not made for.
            ExportError: Helion cannot take the arguments.
            PassError: the module cannot be taken to LLVM.
            ToolError: the kernel crashed, took longer than `timeout` seconds, or left a buffer.
        """
        if config is not None and not self.binding.open_blocks:
            raise UsageError(
                "The module is made for one configuration: lower the kernel with open_tiles=True, "
                "where it has tiles whose sizes a configuration says."
            )
        checked = self.emission.unproven if check_bounds is None else check_bounds
        program = replace(self.program(check_bounds=checked), opt_level=opt_level)
        result, counts = execute.run(program, self.binding, tensors or self.binding.arguments, timeout, config)
        return result, tuple(
            Diagnostic(
                "warning",
                f"{'once' if count == 1 else f'{count} times'} in a run, node {node} {what}",
                self.emission.nodes[node].location,
            )
            for (node, what), count in zip(self.emission.pointed.items(), counts, strict=True)
            if count
        )

    def as_raw(self) -> HelionLowering:
        """The same kernel with its ATen nodes as they were imported."""
        return EmittedKernel(self.binding, self.emission).lower("raw", dumps=False)

    def with_last_lanes(self) -> HelionLowering:
        """The same kernel in which, of lanes of a tile that are stored to one element, the last stays.

        Raises UnsupportedError for a node without a lowering, PassError and ToolError where a pass refuses or crashes.
        """
        binding = replace(self.binding, last_lane=True)
        return EmittedKernel(binding, emit(binding)).lower(self.aten, dumps=False)

    def to_html(self, path: str | Path | None = None) -> str:
        """One interactive page that needs no kernel and no network; written to `path` when given.

        Raises UsageError when it cannot be written.
        """
        return display.page([self], f"{self.trace.name}: {self.trace.target}", path)

    def display(self) -> None:
        """Show source, nodes and MLIR side by side, and the pass diff below."""
        from IPython.display import display

        display(self)

    def _repr_mimebundle_(self, **_: Any) -> Any:
        return display.mimebundle([self])

    def __repr__(self) -> str:
        return f"<HelionLowering of {self.binding.name} to {self.aten}: {len(self.trace.nodes)} nodes>"


def _llvm_steps(lowering: HelionLowering, *, check_bounds: bool = False) -> tuple[Step, ...]:
    deallocate = pipelines.NOT_DEALLOCATED not in str(lowering.module)
    return pipelines.llvm_steps(lowering.aten, deallocate=deallocate, check_bounds=check_bounds)


def _executable(lowering: HelionLowering) -> bytes:
    """The module as the steps to LLVM take it; ATen nodes that are as imported go by linalg."""
    if lowering.aten != "raw":
        return lowering.bytecode
    module, _ = legalization.prepared(lowering.module, lowering.emission, "linalg-on-tensors")
    return bytecode(module)


def _to_llvm(lowering: HelionLowering, to: str, options: Options) -> Trace:
    """From the finished module on to the LLVM dialect, or to LLVM IR."""
    steps = _llvm_steps(lowering)
    if to == "llvm_ir":
        steps = (*steps, Step("mlir-translate", "--mlir-to-llvmir", "translate"))
    trace = Source(_executable(lowering)).run(steps, options, target=to)
    if trace.failure is not None:
        raise legalization.error_of(trace.failure, f"{lowering.binding.name} does not lower to LLVM")
    return lowering.trace.then(trace)


def lower_kernel(
    kernel: Any,
    args: Sequence[Any],
    aten: str = "linalg-on-tensors",
    config: Any = None,
    *,
    open_tiles: bool = False,
    **options: Any,
) -> HelionLowering:
    """Lower a Helion kernel, bound to `args`, to one MLIR module of stock dialects.

    Without a `config` it is the decorator's first, or where that has none Helion's default for these shapes.

    Args:
        kernel: what `@helion.kernel()` returns.
        args: CPU or meta tensors and numbers, as the kernel takes them.
        aten: how ATen nodes end up: `raw`, `linalg-on-tensors`, `tosa` or `stablehlo`.
        config: a `helion.Config`, a dict or text of its fields, or the number of one of the decorator's.
        open_tiles: make one module for all configurations with tiles of at most these sizes, which are arguments.
        options: `isolate`, `timeout`, `dumps`, `elide` of the pass runner.

    Raises:
        UsageError: bad arguments, configuration or output type.
        ExportError: Helion refuses the kernel.
        UnsupportedError: an op has no form in stock MLIR; names the op and the kernel's line.
        PassError, ToolError: a pass refuses the module, or crashes.
    """
    pipelines.check(aten)
    _options(options)
    return emit_kernel(kernel, args, config, open_tiles=open_tiles).lower(aten, **options)


@dataclass(frozen=True)
class EmittedKernel:
    """A kernel bound and emitted raw, from which any output type can be made."""

    binding: Binding
    emission: Emission

    def lower(self, aten: str = "linalg-on-tensors", **options: Any) -> HelionLowering:
        """As `lower_kernel`, from here on."""
        pipelines.check(aten)
        started = time.perf_counter()
        emission = self.emission if aten in fusion.TAKE or not self.emission.fused else self._one_by_one
        trace, code = stages.run(self.binding, emission, aten, _options(options))
        passes = time.perf_counter() - started
        seconds = {"bind": self.binding.seconds, "emit": emission.seconds, "passes": passes}
        return _lowering(self.binding, emission, aten, trace, code, seconds)

    @cached_property
    def _one_by_one(self) -> Emission:
        """With an op of its own for each node."""
        emission = emit(self.binding, fuse=False)
        return replace(emission, remarks=tuple(dict.fromkeys((*self.emission.remarks, *emission.remarks))))


def emit_kernel(kernel: Any, args: Sequence[Any], config: Any = None, *, open_tiles: bool = False) -> EmittedKernel:
    """Bind a kernel and emit it, once for several output types. Arguments and errors as `lower_kernel`."""
    binding = bind(kernel, args, config, open_tiles=open_tiles)
    return EmittedKernel(binding, emit(binding))


def _lowering(
    binding: Binding, emission: Emission, aten: str, trace: Trace, code: bytes, seconds: dict[str, float]
) -> HelionLowering:
    lowering = HelionLowering(binding, emission, aten, trace, code, seconds)
    named = Computed(lambda: printing.content(lowering.shown, emission.nodes))
    final = Dump(stages.NAMES.arguments, len(trace.steps), "mlir", named)
    lowering.trace = replace(trace, dumps=(*trace.dumps, final), steps=(*trace.steps, stages.NAMES))
    return lowering


def _options(options: dict[str, Any]) -> Options:
    known = ("isolate", "timeout", "dumps", "elide", "verify", "progress")
    for name in options:
        if name not in known:
            raise UsageError(f"lower_kernel has no option {name!r}. {near(name, known)}")
    return Options(**options)


def lower(
    kernel: Any,
    args: Sequence[Any],
    to: str = "helion_mlir",
    aten: str = "linalg-on-tensors",
    config: Any = None,
    check: bool | Literal["each"] = False,
    **options: Any,
) -> Trace:
    """Lower a Helion kernel to `helion_device_ir`, `helion_mlir`, `helion_triton`, `llvm_mlir` or `llvm_ir`.

    `check=True` runs the module on the CPU and compares it with Helion's eager
    mode (`Trace.check`); `"each"` also runs the module as it was imported.

    Raises:
        UsageError: no such target.
        and what `lower_kernel` raises.
    """
    return lowered(bind(kernel, args, config), to, aten, check, **options)[0]


def lowered(
    binding: Binding, to: str, aten: str = "linalg-on-tensors", check: bool | Literal["each"] = False, **options: Any
) -> tuple[Trace, HelionLowering | None]:
    """As `lower`, of a kernel that is bound already, with what runs its module where the target has one."""
    if to not in TARGETS:
        raise UsageError(f"Helion kernels do not lower to {to!r}. {near(to, TARGETS)}")
    how = _options(options)
    if to in ("helion_mlir", "llvm_mlir", "llvm_ir"):
        lowering = EmittedKernel(binding, emit(binding)).lower(aten, **options)
        trace = lowering.trace if to == "helion_mlir" else _to_llvm(lowering, to, how)
        return checked(trace, lowering, each=check == "each") if check else trace, lowering
    device_ir = dump("device-ir", binding.device_ir_text, step=0, language="fx", seconds=binding.seconds)
    dumps = (device_ir,)
    steps = (stages.BEFORE[0],)
    if to == "helion_triton":
        text = triton.source(binding)
        located = triton_lines.places(text, binding.sources)
        dumps = (device_ir, dump("to-triton", text, step=1, language="python", locations=located))
        steps = (*steps, Step("helion", "to_triton_code", "Triton"))
    made = Trace(to, dumps, steps, tools=stages.versions(), name=binding.name, sources=binding.sources)
    return replace(made, facts=binding.facts, diagnostics=binding.warnings), None
