"""The pipeline: every pass in order, each leaving a dump (docs/spyre-rules.md: Passes)."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from irwidget.errors import UnsupportedError
from irwidget.garbage import uncollected
from irwidget.spyre import printing
from irwidget.spyre.bundling import HostCall, bundle
from irwidget.spyre.candidates import propagate
from irwidget.spyre.chunking import chunk_large_tensors
from irwidget.spyre.cleanup import (
    eliminate_dead_code,
    promote_constants,
    split_multi_ops,
    validate_copies,
    validate_ops,
)
from irwidget.spyre.copyback import write_at_once
from irwidget.spyre.division import Division, divide
from irwidget.spyre.hardware import SEMANTICS
from irwidget.spyre.host import kernel_source
from irwidget.spyre.ir import Graph, Refusals
from irwidget.spyre.kernel import SpyreKernel, make_kernel
from irwidget.spyre.named import (
    check_hint_names,
    dynamic_units,
    given_divisions,
    hinted_divisions,
    named_sizes,
    propagate_names,
)
from irwidget.spyre.options import SpyreSwitches, make_options
from irwidget.spyre.padding import pad_matmuls
from irwidget.spyre.pool import Pool, plan_pool
from irwidget.spyre.program import CompiledFrom, SpyreProgram
from irwidget.spyre.restickify import LayoutChoice, choose_layouts, commit_layouts, insert_restickify
from irwidget.spyre.scratchpad import Scratchpad, co_optimize, plan_scratchpad
from irwidget.spyre.tensorspec import described
from irwidget.spyre.tiling import coarse_tile, set_advances
from irwidget.trace import Dump, Step, Trace

T = TypeVar("T")

STEPS = {
    "fx": Step("spyre", "FX graph: capture, decompositions, rewrites", "fx"),
    "loop-ir": Step("spyre", "loop IR: layouts, padding, tiling, core division, scratchpad", "loop-ir"),
    "scheduler": Step("spyre", "kernels: pool, bundling", "scheduler"),
    "codegen": Step("spyre", "OpSpec, SuperDSC, bundle.mlir, host module", "codegen"),
}


@dataclass
class _Recorder:
    """Takes the dump after each pass; texts are made when they are read."""

    dumps: list[Dump] = field(default_factory=list[Dump])
    previous: object = None

    def __call__(
        self,
        name: str,
        step: str,
        language: str,
        run: Callable[[], T],
        show: Callable[[T], printing.Printed],
        options: str = "",
    ) -> T:
        begun = time.perf_counter()
        result = run()
        self.dumps.append(
            printing.lazy_dump(
                name,
                list(STEPS).index(step),
                language,
                lambda: show(result),
                self.dumps[-1] if self.dumps else None,
                options=options,
                seconds=time.perf_counter() - begun,
            )
        )
        return result


def compile(
    fn: Any,
    inputs: Any,
    cores: int = 32,
    *,
    name: str | None = None,
    frontend: Any = None,
    **options: Any,
) -> SpyreProgram:
    """Compile a function or module for Spyre, from FX to SuperDSC, bundle and host module.

    `inputs`: tensors (real, meta or fake), TensorSpecs and plain values, as a sequence, or a mapping of keywords;
    nothing of their size is allocated. `cores`: 1 to 32. Options: see `irwidget.spyre.Options`. `frontend`: the path
    of a checkout of torch-spyre, or an `irwidget.spyre.FrontEnd`: its own front end then compiles instead of ours.

    Raises UsageError for bad options, UnsupportedError for what the front end refuses, ExportError when the
    function cannot be traced.
    """
    if frontend is not None:
        from irwidget.spyre.upstream.frontend import compile_with

        return compile_with(frontend, fn, inputs, cores, name, options)
    given = make_options(cores, options)
    label = name or getattr(fn, "__name__", type(fn).__name__)
    return replace(
        _ProgramCompilation(given, label).run(fn, inputs), origin=CompiledFrom(fn, described(inputs), compile)
    )


class _ProgramCompilation:
    """One run of the pipeline: the options and the dumps so far."""

    def __init__(self, options: SpyreSwitches, label: str) -> None:
        self.options, self.label = options, label
        self.refusals = Refusals(collected=False)
        self.record = _Recorder()

    def run(self, fn: Any, inputs: Any) -> SpyreProgram:
        captured, module = self._fx(fn, inputs)
        before = list(self.record.dumps)
        on_host: dict[str, str] = {}
        while True:
            self.refusals = Refusals(self.options.host_for_refused)
            try:
                with uncollected():
                    graph, constants = self._lowered(captured, module, on_host)
                    graph, choice = self._layouts(graph)
                    graph, divisions = self._divided(graph)
                    pad, pool, made = self._kernels(graph)
                break
            except UnsupportedError as error:
                found = {node: one for node, one in {**self.refusals.found, error.node: error}.items() if node}
                if not self.options.host_for_refused or on_host.keys() >= found.keys():
                    raise
                for node, one in found.items():
                    on_host.setdefault(node, "the front end refuses it: " + str(one).partition("\n")[0])
                self.record.dumps[:] = before
        facts = {
            "semantics": SEMANTICS,
            "cores": self.options.cores,
            "kernels": sum(isinstance(s, SpyreKernel) for s in made),
            "restickify_cost": choice.cost,
            "pool_bytes": pool.bytes,
        }
        trace = Trace(
            "spyre_host",
            tuple(self.record.dumps),
            tuple(STEPS.values()),
            tools={"spyre front end": SEMANTICS},
            name=self.label,
            facts=facts,
            diagnostics=printing.diagnostics(graph, divisions, self.options),
        )
        return SpyreProgram(
            self.label,
            self.options,
            graph,
            made,
            divisions,
            choice,
            pad,
            pool,
            trace,
            {**captured.bound, **constants},
            captured.call_inputs,
            captured.output_tree,
            captured,
            named_sizes(graph),
        )

    def _fx(self, fn: Any, inputs: Any) -> tuple[Any, Any]:
        """Trace, decompose, rewrite."""
        from irwidget.spyre.capture import capture, decompose
        from irwidget.spyre.rewrites import rewrite

        captured = self.record("capture", "fx", "fx", lambda: capture(fn, inputs, self.options), printing.captured)
        module = self.record("decompositions", "fx", "fx", lambda: decompose(captured, self.options), printing.fx)
        rewritten = self.record(
            "rewrites",
            "fx",
            "fx",
            lambda: rewrite(module, len(captured.mutated)),
            printing.fx,
            "addmm mm-to-bmm unit-bmm unflatten",
        )
        return captured, rewritten

    def _lowered(self, captured: Any, module: Any, on_host: Mapping[str, str]) -> tuple[Graph, Mapping[str, Any]]:
        """The loop IR, and the values of tensor constants."""
        from irwidget.spyre.lowering import lower_graph

        constants: dict[str, Any] = {}

        def lowered() -> Graph:
            graph, found = lower_graph(module, captured.inputs, captured.mutated, on_host)
            constants.update(found)
            return replace(graph, strides=captured.strides, aliases=captured.aliases)

        return self.record("lower", "loop-ir", "text", lowered, printing.graph), constants

    def _pass(self, name: str, graph: Graph, change: Callable[[Graph], Graph]) -> Graph:
        return self.record(name, "loop-ir", "text", lambda: change(graph), printing.graph)

    def _layouts(self, graph: Graph) -> tuple[Graph, LayoutChoice]:
        """Layouts of every buffer, restickify copies, padding."""
        options = self.options
        graph = self._pass("deadcode_elimination", graph, eliminate_dead_code)
        graph = self._pass("split_multi_ops", graph, split_multi_ops)
        graph, found = self.record(
            "propagate_spyre_tensor_layouts",
            "loop-ir",
            "text",
            lambda: write_at_once(graph, propagate(graph, self.refusals), options.chunk_large_tensors),
            printing.candidates,
        )
        graph = self._pass("validate_ops", graph, lambda g: validate_ops(g, self.refusals))
        search = f"restickify_solver={options.restickify_solver} beam_width={options.beam_width}"
        choice = self.record(
            "optimize_restickify_locations",
            "loop-ir",
            "text",
            lambda: choose_layouts(graph, found, options, self.refusals),
            printing.layouts(graph),
            search,
        )
        made = self._pass("finalize_layouts", graph, lambda g: commit_layouts(g, choice))
        made = self._pass(
            "insert_restickify", made, lambda g: validate_copies(insert_restickify(g, choice), self.refusals)
        )
        made = self._pass("insert_bmm_padding", made, pad_matmuls)
        made = self._pass("dedup_and_promote_constants", made, promote_constants)
        if options.chunk_large_tensors:
            made = self._pass("chunk_large_tensors", made, lambda g: chunk_large_tensors(g, options))
        return made, choice

    def _divided(self, graph: Graph) -> tuple[Graph, tuple[Division, ...]]:
        """Named dims, hints, loops, and the work of each core."""
        options = self.options
        graph = self._pass("propagate_named_dims", graph, propagate_names)
        hints: Mapping[str, Mapping[str, int]] = {}
        if not options.ignore_hints:
            check_hint_names(graph)
            hints = {**hinted_divisions(graph), **given_divisions(graph, options)}
            graph = self._pass("coarse_tile", graph, coarse_tile)
        tiled, dynamic = graph, dynamic_units(graph)
        graph, divisions = self.record(
            "work_distribution",
            "loop-ir",
            "text",
            lambda: divide(tiled, options, hints, dynamic),
            printing.divided,
            f"cores={options.cores}",
        )
        if options.co_optimizing_lx_planning and options.lx_planning:
            graph = self._pass("co_optimize_division", graph, lambda g: co_optimize(g, divisions, options))
        return graph, divisions

    def _kernels(self, graph: Graph) -> tuple[Scratchpad, Pool, tuple[SpyreKernel | HostCall, ...]]:
        """Scratchpad, pool, kernels and everything that is written from them."""
        options = self.options
        solver = f"layout_solver={options.layout_solver} bytes={options.lx_bytes}"
        pad = self.record(
            "scratchpad_planning",
            "loop-ir",
            "text",
            lambda: plan_scratchpad(graph, options),
            printing.scratchpad(graph),
            solver,
        )
        pool = self.record(
            "memory_planning", "scheduler", "text", lambda: plan_pool(graph, pad.addresses), printing.pool(graph)
        )
        steps = self.record(
            "spyre_fuse_nodes",
            "scheduler",
            "text",
            lambda: bundle(graph, pad.addresses, pool.offsets),
            printing.bundles,
        )
        places = {n: ("lx", a) for n, a in pad.addresses.items()} | {n: ("pool", a) for n, a in pool.offsets.items()}

        def kernels() -> tuple[SpyreKernel | HostCall, ...]:
            found: list[SpyreKernel | HostCall] = []
            names: dict[str, str] = {}
            for step in steps:
                if isinstance(step, HostCall):
                    found.append(step)
                    continue
                kernel = set_advances(graph, make_kernel(graph, step, options, places, bool(pool.offsets)))
                name = names.setdefault("\n".join(kernel_source(kernel)), f"{step.name}_{len(names)}")
                found.append(replace(kernel, name=name))
            return tuple(found)

        made = self.record("opspec", "codegen", "python", kernels, printing.opspecs)
        self.record("superdsc", "codegen", "json", lambda: made, printing.superdscs)
        self.record(
            "bundle_mlir",
            "codegen",
            "mlir",
            lambda: made,
            printing.bundle_mlirs,
            f"unroll_loops={options.unroll_loops}",
        )
        self.record("host_module", "codegen", "python", lambda: made, printing.host(graph, pool.bytes))
        return pad, pool, made
