"""The names of Helion's that it does not publish and a lowering needs, in one place.

Helion publishes no interface to its Device IR. What is taken from its private modules, and what its bound kernels,
environments and graphs hold, is read here, so that a change in Helion has one place to be answered;
`tests/helion/test_contract.py` says of each name what it must do. Nothing is imported before it is asked for.
"""

from __future__ import annotations

import ast
import functools
import importlib
import inspect
import logging
import operator
import re
import sys
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from types import FunctionType
from typing import Any

from irwidget.errors import UnsupportedError

SAVED_ARGUMENTS = "irwidget_arguments"
"""Key in `node.meta`: the (args, kwargs) of a node before Helion prepared it for Inductor."""

_patching = threading.RLock()


@functools.cache
def module(name: str) -> Any:
    """A module of Helion by its path below `helion`, imported when first asked for."""
    return importlib.import_module(f"helion.{name}")


def is_kernel(obj: object) -> bool:
    """Whether `obj` is a Helion kernel; never imports Helion."""
    module = sys.modules.get("helion.runtime.kernel")
    kinds = (getattr(module, name, None) for name in ("Kernel", "BoundKernel"))  # none while it is being imported
    return any(kind is not None and isinstance(obj, kind) for kind in kinds)


def carried(kernel: Any) -> tuple[Any, ...] | None:
    """How pickle makes a kernel anew in a process that has another release of Helion; None for other objects."""
    home = sys.modules.get("helion.runtime.kernel")
    if home is None or not isinstance(kernel, getattr(home, "Kernel", ())):
        return None
    usual, given = type(kernel.settings)().to_dict(), kernel.settings.to_dict()
    usual["autotune_random_seed"] = given.get("autotune_random_seed")  # by default another each time
    settings = {name: value for name, value in given.items() if name not in usual or usual[name] != value}
    configs = [dict(one.config) for one in kernel.configs]
    return _decorated, (kernel.fn, configs, kernel._key_fn, settings)  # pyright: ignore[reportPrivateUsage]


def _decorated(function: Any, configs: list[dict[str, Any]], key: Any, settings: dict[str, Any]) -> Any:
    helion = importlib.import_module("helion")
    if unknown := ", ".join(sorted(settings.keys() - helion.Settings().to_dict().keys())):
        raise UnsupportedError(f"This Helion has no setting {unknown}, which {function.__name__} has")
    made = [helion.Config(**one) for one in configs]
    return helion.kernel(function, configs=made, **({"key": key} if key else {}), **settings)


@functools.lru_cache(maxsize=4096)
def target_name(target: Any) -> str:
    """The name by which handlers know an FX target.

    `aten.add.Tensor` for an ATen overload, `load`, `_for_loop`, `sym_float`, ...
    for an op of Helion's language and any function, `_operator.add` for Python's
    operators, `math.ceil` and `builtins.round` for its functions of numbers.
    """
    if isinstance(target, str):
        return target
    own_module = str(getattr(target, "__module__", ""))
    name = str(getattr(target, "__name__", target))
    if own_module.startswith("helion.") or isinstance(target, FunctionType):
        return name
    if own_module in (operator.add.__module__, "math", "builtins"):
        return f"{own_module}.{name}"
    return str(target)


def op_name(node: Any) -> str:
    """The name of a node's op without ATen's name and overload: `add`, `store`, `_phi`."""
    return target_name(node.target).removeprefix("aten.").partition(".")[0]


def node_text(node: Any) -> str:
    """An FX node as a line: `load = load(x, [block_size_0, block_size_2])`, with the arguments that Helion had."""
    args, kwargs = node.meta.get(SAVED_ARGUMENTS, (node.args, node.kwargs))
    shown = [_argument(argument) for argument in args]
    while shown and shown[-1] == "None":
        shown.pop()
    shown += [f"{name}={_argument(value)}" for name, value in kwargs.items() if not name.startswith("_")]
    return f"{node.name} = {target_name(node.target)}({', '.join(shown)})"


def _argument(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_argument, value))}]"
    text = repr(value)
    return text.removeprefix("torch.") if text.startswith("torch.") else text


@contextmanager
def saved_arguments() -> Generator[None]:
    """Save every node's arguments before Helion prepares it for Inductor.

    The preparation replaces duplicate and moved tensor inputs with `None`
    (`x * x` becomes `mul(x, None)`), and keeps the originals nowhere.
    """
    lowering = module("_compiler.inductor_lowering")
    with _patching:
        prepare = lowering.prepare_node_lowering

        def prepare_and_save(graph_lowering: Any, node: Any) -> Any:
            node.meta[SAVED_ARGUMENTS] = (node.args, dict(node.kwargs))
            return prepare(graph_lowering, node)

        lowering.prepare_node_lowering = prepare_and_save
        try:
            yield
        finally:
            lowering.prepare_node_lowering = prepare


_LOGGERS = ("torch._subclasses.fake_tensor", "helion.runtime.kernel")


@contextmanager
def suppressed_logs() -> Generator[None]:
    """Keep what is raised as an error from being logged as pages of tracebacks, too."""
    loggers = [logging.getLogger(name) for name in _LOGGERS]
    with _patching:
        before = [logger.disabled for logger in loggers]
        for logger in loggers:
            logger.disabled = True
        try:
            yield
        finally:
            for logger, value in zip(loggers, before, strict=True):
                logger.disabled = value


PROCESSORS = 132
"""Multiprocessors of the GPU that persistent kernels are laid out for where there is none."""
REGISTERS = 65536
"""Registers of one of them: what `maxnreg` and `num_warps` share."""


@contextmanager
def pretended_gpu() -> Generator[None]:
    """Without a GPU, tell how many multiprocessors it has, and have what is made on it made on the CPU."""
    import torch

    from irwidget import devices

    runtime = module("runtime")
    with _patching, devices.without_gpu():
        real, accelerator = runtime.get_num_sm, torch.accelerator.current_accelerator
        runtime.get_num_sm = lambda *_args, **_options: PROCESSORS
        if accelerator() is None:  # the host function draws seeds on it
            torch.accelerator.current_accelerator = lambda *_args, **_options: devices.CPU
        try:
            yield
        finally:
            runtime.get_num_sm, torch.accelerator.current_accelerator = real, accelerator


# --- kernels ---------------------------------------------------------------------


def kernel_type() -> Any:
    """The class of what `@helion.kernel()` returns."""
    return module("runtime.kernel").Kernel


def config_type() -> Any:
    """The class of configurations."""
    return module("runtime.config").Config


@contextmanager
def _limited_registers() -> Generator[None]:
    """Without a GPU, have Helion keep `maxnreg`, which it takes out of a configuration where there is no CUDA."""
    import torch

    compat, spec = module("_compat"), module("autotuner.config_spec")
    with _patching:
        supported, registers = compat._supports_maxnreg, spec._regs_per_block
        if not torch.cuda.is_available() and torch.version.hip is None:
            compat._supports_maxnreg, spec._regs_per_block = lambda: True, lambda: REGISTERS
        try:
            yield
        finally:
            compat._supports_maxnreg, spec._regs_per_block = supported, registers


def normalize(spec: Any, config: Any) -> None:
    """Fill in, in place, what a configuration leaves open. Raises Helion's errors for what does not fit."""
    with _limited_registers():
        spec.normalize(config)


@functools.cache
def config_fields() -> tuple[str, ...]:
    """The names of a configuration's fields."""
    given = inspect.signature(config_type().__init__).parameters
    return tuple(name for name, one in given.items() if one.kind is one.KEYWORD_ONLY)


def config_value(spec: Any, config: Any, name: str, block_id: int) -> Any:
    """What a field that has one entry for each loop says of the loop of a block; None where it says nothing."""
    loops, values = getattr(spec, name, getattr(spec, name.removesuffix("s"), None)), config.config.get(name)
    if loops is None or not values:
        return None
    with suppress(KeyError, IndexError):
        return loops.config_get(values, block_id)
    return None


def range_options(config: Any, block_id: int) -> dict[str, Any]:
    """The keywords of the `tl.range` of a block's loop in Helion's Triton, or `static_ranges` alone."""
    strategy = module("_compiler.tile_strategy").TileStrategy
    call: Any = ast.parse(strategy.get_range_call_str(config, [block_id], end="0"), mode="eval").body
    given = {str(keyword.arg): ast.literal_eval(keyword.value) for keyword in call.keywords}
    return given if call.func.attr == "range" else {"static_ranges": True}


def random_config(spec: Any) -> Any:
    """A configuration that Helion's autotuner may try, drawn by Python's generator; None where it finds none."""
    generation = spec.create_config_generation() if hasattr(spec, "create_config_generation") else None
    with suppress(module("exc").InvalidConfig):
        generation = generation or module("autotuner.config_generation").ConfigGeneration(spec)
        return generation.random_config()
    return None


def rolled_graphs(bound: Any, config: Any) -> list[Any] | None:
    """The graphs with the reduction loops of a configuration, by their ids; None where it has none.

    Nodes have their arguments from before Helion prepared them, as nodes of the new graphs where these have them.
    """
    spec, values = bound.config_spec, config.config.get("reduction_loops")
    if not values or all(value is None for value in values) or not len(spec.reduction_loops):
        return None
    graphs = bound.host_function.device_ir.build_codegen_graphs(config)
    for info in graphs:
        known = {node.name: node for node in info.graph.nodes}
        for node in info.graph.nodes:
            if SAVED_ARGUMENTS in node.meta:
                args, kwargs = node.meta[SAVED_ARGUMENTS]
                node.meta[SAVED_ARGUMENTS] = _moved(args, known), _moved(kwargs, known)
    return graphs


def _moved(value: Any, known: dict[str, Any]) -> Any:
    """Arguments with nodes of another graph in the place of those of the same name."""
    if isinstance(value, (list, tuple)):
        return type(value)([_moved(one, known) for one in value])
    if isinstance(value, dict):
        return {name: _moved(one, known) for name, one in value.items()}
    return known.get(value.name, value) if type(value).__name__ == "Node" else value


def is_reduction_loop(info: Any) -> bool:
    """Whether a graph is the body of a loop that the configuration makes of a reduction."""
    return type(info).__name__ == "ReductionLoopGraphInfo"


def reduction_kind(node: Any) -> str:
    """What kind of reduction Inductor made of a node: `sum`, `max`, ...; empty for what is none."""
    data = getattr(getattr(node.meta.get("lowering"), "buffer", None), "data", None)
    return str(getattr(data, "reduction_type", "") or "")


def eager_mode() -> Any:
    """The value of `Settings.ref_mode` with which kernels run op by op."""
    return module("runtime.ref_mode").RefMode.EAGER


@contextmanager
def eager_atomics(around: Callable[[Any], Any]) -> Generator[None]:
    """Meanwhile, eager mode's atomics other than sums are `around(f)` of its `f(target, index, value, op)`.

    That returns what was there before, and stores `op(before, value)`. Releases without such a function are left.
    """
    ops = module("language.atomic_ops")
    with _patching:
        own = getattr(ops, "_ref_atomic_binop", None)
        if own is not None:
            ops._ref_atomic_binop = around(own)
        try:
            yield
        finally:
            if own is not None:
                ops._ref_atomic_binop = own


@contextmanager
def eager_tiles(around: Callable[[Any], Any]) -> Generator[None]:
    """Meanwhile, eager mode's `hl.tile` is `around(f)` of its `f(begin, end, block_size)`.

    As a size, a tile is then the number of its lanes, also at the end of a loop.
    """
    tile, kind = module("language").tile, module("language.ref_tile").RefTile
    before, own = (vars(kind)["_tile_to_size"], vars(kind)["__index__"]), tile._ref_fn

    def lanes(tile: Any) -> int:
        return tile._slice.stop - tile._slice.start

    with _patching:
        tile._ref_fn, kind._tile_to_size, kind.__index__ = around(own), staticmethod(lanes), lanes
        try:
            yield
        finally:
            tile._ref_fn, (kind._tile_to_size, kind.__index__) = own, before


def copied_kernel(kernel: Any, function: Any = None) -> Any:
    """A new kernel object over the same function or another, so that no cache of the user's is touched."""
    return kernel_type()(function or kernel.fn, configs=list(kernel.configs), settings=kernel.settings)


def bind(kernel: Any, arguments: tuple[Any, ...]) -> tuple[tuple[Any, ...], Any]:
    """The arguments as the kernel takes them, defaults filled in, and the kernel bound to them."""
    arguments = tuple(kernel.normalize_args(*arguments))
    isolated = getattr(kernel, "_bind_isolated", None)  # since Helion 1.5
    with _heard() as said:
        try:
            bound = isolated(arguments) if isolated is not None else kernel.bind(arguments)
        except Exception as error:
            for message, _ in said:
                error.add_note(f"Before, Helion warned: {message}")
            raise
    setattr(bound, _WARNINGS, said)
    return arguments, bound


_WARNINGS = "irwidget_warnings"
"""The attribute of a bound kernel that has what Helion warned of."""
Warned = tuple[str, tuple[str, int] | None]
"""A warning of Helion's, and the file and line that it is about, where it says them."""


def warnings(bound: Any) -> list[Warned]:
    """What Helion has warned of a bound kernel so far."""
    return list(dict.fromkeys(getattr(bound, _WARNINGS, ())))


@contextmanager
def _heard() -> Generator[list[Warned]]:
    """Take down what Helion warns of, which it would print."""
    environment, sources = module("_compiler.compile_environment"), module("_compiler.source_location")
    said: list[Warned] = []

    def take_down(text: str, **_: Any) -> None:
        place = sources.current_location()
        known = getattr(place, "filename", None) and getattr(place, "lineno", None)
        message = re.sub(r"^WARNING\[(\w+)\]", r"\1", text.partition("\nWhile processing:")[0].strip())
        said.append((message, (place.filename, int(place.lineno)) if known else None))

    with _patching:
        before = vars(environment).get("print", print)
        environment.print = take_down
        try:
            yield said
        finally:
            environment.print = before


def host_function(bound: Any, config: Any) -> Any:
    """The host function that Helion generates, which takes the kernel's arguments and `_launcher`."""
    with suppressed_logs(), generating(bound), _names_for_ops_of_others(bound):
        return bound.compile_config(config, allow_print=False)


def triton_program(bound: Any, config: Any) -> str:
    """The Triton program that Helion generates, with its host function."""
    with suppressed_logs(), generating(bound):
        return bound.to_triton_code(config)


@contextmanager
def generating(bound: Any) -> Generator[None]:
    """While Helion generates code, which takes loops that cannot be flattened out of what a configuration may say.

    They are put back: the same configuration is then refused when it is given again. Warnings are taken down.
    """
    loops = bound.config_spec.flatten_loops
    kept = list(loops)
    said: list[Warned] = []
    try:
        with _limited_registers(), _heard() as said:
            yield
    finally:
        getattr(bound, _WARNINGS, []).extend(said)
        if len(loops) != len(kept):
            loops.clear()
            loops.extend(kept)


@contextmanager
def _names_for_ops_of_others(bound: Any) -> Generator[None]:
    """Have ops of others, of which Helion generates no device code, be a name there: only the host's code is run."""
    graphs = [info.graph for info in bound.host_function.device_ir.graphs]
    targets = {node.target for graph in graphs for node in graph.nodes if getattr(node.target, "_helion_api", False)}
    tables = [target._codegen for target in targets if not target.__module__.startswith("helion.")]
    tables = [table for table in tables if not dict.__len__(table)]
    expression = module("_compiler.ast_extension").expr_from_string
    with _patching:
        for table in tables:
            dict.__setitem__(table, "common", lambda _state: expression("not_generated"))
        try:
            yield
        finally:
            for table in tables:
                dict.clear(table)


def seed_expression(slot: int) -> str:
    """How the generated host function names the seed that it draws for `torch.rand` number `slot` of a kernel."""
    return f"int(_rng_seed_buffer[{slot}])"


# --- top-level loops ---------------------------------------------------------------


def _top_level_loops(device_ir: Any) -> list[Any]:
    return [node for phase in device_ir.phases for node in phase.root_nodes]


def loop_place(device_ir: Any, root: int) -> tuple[str, int] | None:
    """File and line of top-level loop `root`; None where Helion does not know them."""
    place = getattr(_top_level_loops(device_ir)[root], "_location", None)
    return (place.filename, int(place.lineno)) if place is not None and getattr(place, "filename", None) else None


def loop_bounds(device_ir: Any, root: int) -> list[Any]:
    """The bounds that top-level loop `root` was given (`end`, or `begin, end`), as ints, symbols and lists of them."""
    call = _top_level_loops(device_ir)[root].iter
    positional: list[Any] = []
    for argument in call.args:
        positional += argument.value.elts if type(argument).__name__ == "Starred" else [argument]
    named = [keyword.value for keyword in call.keywords if keyword.arg in ("end_or_none", "end")]
    return [argument._type_info.proxy() for argument in [*positional, *named]]  # pyright: ignore[reportPrivateUsage]


# --- environments and symbols ---------------------------------------------------------


def canonical_block(env: Any, block_id: int) -> int:
    """The block that a block is an alias of, itself where it is none."""
    canonical = getattr(env, "canonical_block_id", None)
    return canonical(block_id) if canonical is not None else block_id


def block_behind(env: Any, size: Any) -> int | None:
    """The block that a size of a tile is of, found through what the size is computed from too; None for others."""
    resolve = getattr(env, "resolve_block_id", None) or env.get_block_id  # the first since Helion 1.1
    return resolve(size)


def is_tuned(info: Any) -> bool:
    """Whether the configuration says a block's size, rather than the kernel or the host."""
    return type(info.block_size_source).__name__ == "LoopSpecBlockSizeSource"


def jagged_parents(env: Any, block_id: int) -> tuple[int, ...]:
    """The blocks whose lanes say how long a `hl.jagged_tile` is; none for other tiles."""
    known: Any = getattr(env, "jagged_tile_parent_ids", {})  # since Helion 1.1, as `hl.jagged_tile`
    return tuple(known.get(block_id, ()))


def origin_of(host: Any, expression: Any) -> Any:
    """Where a symbol or expression of the host function comes from; None where it is not known."""
    info = host.expr_to_origin.get(expression)
    return None if info is None else info.origin


def tunable(env: Any, symbol: Any) -> Any:
    """What computes a symbol from the configuration (`.evaluate(config)`); None for other symbols."""
    return getattr(env, "config_value_expressions", {}).get(symbol)


def expression_of(number: Any) -> Any:
    """The sympy expression of a SymInt, SymFloat or SymBool."""
    cached = getattr(number.node, "_expr", None)
    return cached if cached is not None else number._sympy_()  # pyright: ignore[reportPrivateUsage]


def backed_values(shape_env: Any) -> Any:
    """What symbols stood for when the kernel was bound."""
    return getattr(shape_env, "backed_var_to_val", None) or shape_env.var_to_val


def origins() -> Any:
    """The module that says where Helion's symbols and tensors come from."""
    return module("_compiler.variable_origin")
