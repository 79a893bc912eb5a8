"""Walk the Device IR of a bound kernel and emit one module.

The emitter holds what every handler needs: the builder, the values of the nodes
so far, the loops around the current place, and the function's arguments.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from irwidget.errors import IRWidgetError, UnsupportedError
from irwidget.helion import addresses, aliasing, grid, private, scalars
from irwidget.helion.bindings import arith, func, ir, memref
from irwidget.helion.bound import Binding
from irwidget.helion.builder import DYNAMIC, Builder, Size
from irwidget.helion.handlers import ANY_ATEN, Handler, handler_for
from irwidget.helion.nodes import AtenImporter
from irwidget.helion.reach import Reach
from irwidget.helion.symbols import expression, static_value
from irwidget.helion.values import Emission, HostScalar, HostTensor, TileLoop
from irwidget.private_torch import OpOverload, storage_id
from irwidget.trace import Diagnostic, Location, Node, Severity

CONFIGURATION = "helion.config"
"""The attribute of a module that has the configuration, as far as it says something."""


Plan = Callable[[Any, Any], dict[Any, Handler]]


class PlacedError(UnsupportedError):
    """An UnsupportedError whose message already names the op and the line."""


@dataclass
class _Frame:
    graph: str
    location: Location | None = None


class Emitter:
    """Emits one kernel. Handlers use the public attributes and methods."""

    def __init__(self, binding: Binding, context: ir.Context, plan: Plan | None = None) -> None:
        self.binding = binding
        self.context = context
        self.plan = plan
        """Says what emits nodes that become one op."""
        self.builder = Builder(context)
        self.importer = AtenImporter(context)
        self.loops: dict[int, TileLoop] = {}
        self.values: dict[Any, Any] = {}
        self.symbol_values: dict[Any, Any] = {}
        self.tensors: dict[Any, HostTensor] = {}
        self.memories: dict[torch.dtype, HostTensor] = {}
        """All of memory, as elements of a dtype, for tensors that are read and written by address."""
        self.scalars: dict[str, HostScalar] = {}
        self.normalised: list[str] = []
        self.nodes: dict[str, Node] = {}
        self.block_arguments: dict[int, ir.Value] = {}
        """Of a module for many configurations, the arguments that say the tile sizes of blocks."""
        self.runs: dict[Any, Handler] = {}
        self.instead: dict[Any, Handler] = {}
        """What emits single nodes where the rule of their op does not."""
        self.remarks: list[Diagnostic] = []
        """What is to be said of nodes that are lowered in another way than one may expect."""
        self.fused = False
        self.reach = Reach()
        self._frames = [_Frame("host", self._kernel_location())]
        self._entry: ir.Block | None = None
        self._used_names: set[str] = set()
        self._static: dict[Any, Any] = {}

    # --- the whole kernel -----------------------------------------------------

    def emit(self) -> Emission:
        """Emit every top-level loop, in program order, into one function of a new module."""
        started = time.perf_counter()
        location = self._note(self.binding.name, "kernel", self._kernel_location())
        with self.binding.entered(), location:
            module = ir.Module.create()
            module.operation.attributes[CONFIGURATION] = self.builder.attribute(self.binding.chosen.fields)
            function = self._function(module)
            with ir.InsertionPoint(self._block):
                self._read_sizes()
                self._read_tile_sizes()
                for position, graph_id in enumerate(self.binding.device_ir.root_ids):
                    self._root(position, graph_id)
                func.return_([])
            types = [argument.type for argument in self._block.arguments]
            function.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(types, []))
        return Emission(
            module,
            [*self.tensors.values(), *self.memories.values()],
            list(self.scalars.values()),
            self.normalised,
            self.nodes,
            time.perf_counter() - started,
            self.importer.imported,
            (*self.remarks, *(Diagnostic("remark", rest, self._kernel_location()) for rest in self.reach.rests)),
            frozenset(self.importer.ops),
            self.fused,
            self.reach.unproven,
            self.reach.pointed,
        )

    def remark(self, message: str) -> None:
        """Say something of the node that is being emitted."""
        self.said("remark", message)

    def said(self, severity: Severity, message: str) -> None:
        """As `remark`, or as a warning."""
        said = Diagnostic(severity, message, self._frames[-1].location)
        if said not in self.remarks:
            self.remarks.append(said)

    def _function(self, module: ir.Module) -> ir.Operation:
        function = func.FuncOp(self.binding.name, ([], []), ip=ir.InsertionPoint(module.body))
        self._entry = function.add_entry_block()
        self.builder.start_function(self._block)
        written = self._written_storages()
        for info in self.binding.graphs:
            for node in info.graph.nodes:
                if private.target_name(node.target) == "_host_tensor" and node.op == "call_function":
                    self._add_tensor(node.meta["val"], written)
        for bound in self._bounds():
            if isinstance(bound, torch.Tensor):
                self._add_tensor(bound, written)
        for dtype, stored in addresses.stacked(self.binding.graphs).items():
            self._add_memory(dtype, stored)
        return function

    def _bounds(self) -> list[Any]:
        """Where the top-level loops begin and end, as Helion has it."""
        roots = range(len(self.binding.device_ir.root_ids))
        return [bound for root in roots for one in self.binding.ranges(root) for bound in (one.begin, one.end)]

    def _add_memory(self, dtype: torch.dtype, written: bool) -> None:
        """An argument for what is read and written by address."""
        name = self._unique(f"memory_{str(dtype).removeprefix('torch.')}")
        location = ir.Location.name(name, self._mlir_location(name, self._kernel_location()))
        value = self._block.add_argument(self.builder.memref_type([DYNAMIC], self._element(dtype)), location)
        self.memories[dtype] = HostTensor(name, "", dtype, (-1,), None, value, written, memory=True)

    def memory(self, like: HostTensor) -> HostTensor:
        """The argument for tensors that are read and written by address, all like `like`."""
        memory = self.memories[like.dtype]
        if any(one.reach not in (0, like.bytes) for one in self.memories.values()):
            raise UnsupportedError("the kernel has stacks of tensors of several sizes: an address does not say which")
        memory.reach = like.bytes
        return memory

    @property
    def _block(self) -> ir.Block:
        assert self._entry is not None
        return self._entry

    def _root(self, position: int, graph_id: int) -> None:
        info = self.binding.infos[graph_id]
        blocks = self.binding.device_ir.grid_block_ids[position]
        location = self._note(str(info.name), "tile loop", self._loop_line(position))
        with location, grid.tile_loop(self, blocks, self.binding.ranges(position)):
            self.run_graph(info, [])

    def _loop_line(self, position: int) -> Location:
        """The line of a top-level loop."""
        place = private.loop_place(self.binding.device_ir, position)
        return Location(*place) if place is not None else self._kernel_location()

    def _note(self, name: str, target: str, location: Location) -> ir.Location:
        """Enter something that is no node (the kernel, a top-level loop) among the linked things."""
        self.nodes[name] = Node(name, target, f"{target} {name}", location, 0 if target == "kernel" else 1)
        return self._mlir_location(name, location)

    # --- graphs and nodes --------------------------------------------------------

    def run_graph(self, info: Any, arguments: Sequence[Any]) -> list[Any]:
        """Emit a graph at the current place; its placeholders stand for `arguments`. Returns its outputs."""
        pending = list(arguments)
        outputs: list[Any] = []
        if self.plan is not None:
            self.runs.update(self.plan(self, info.graph))
        outer = dict(self.symbol_values)  # what is computed in a region is not known outside
        self._frames.append(_Frame(str(info.name), self._frames[-1].location))
        try:
            for node in info.graph.nodes:
                if node.op == "placeholder":
                    self.values[node] = pending.pop(0)
                elif node.op == "output":
                    results = node.args[0]
                    if isinstance(results, (list, tuple)):
                        outputs = [self.value(result) for result in results]
                    elif results is not None:
                        outputs = [self.value(results)]
                else:
                    self._run_node(node)
        finally:
            self._frames.pop()
            self.symbol_values = outer
        return outputs

    def run_nodes(self, nodes: Sequence[Any]) -> None:
        """Emit nodes of the current graph at the current place, where they have values of their own."""
        runs, self.runs = self.runs, {}  # each is asked for by itself
        for node in nodes:
            self._run_node(node)
        self.runs = runs

    def _run_node(self, node: Any) -> None:
        frame = self._frames[-1]
        location = self.source_of(node) or frame.location
        frame.location = location
        self.reach.node = name = f"{frame.graph}.{node.name}"
        target = private.target_name(node.target)
        symbolic = isinstance(node.meta.get("val"), (int, float, torch.SymInt, torch.SymFloat, torch.SymBool))
        text = private.node_text(node)
        self.nodes[name] = plain = Node(name, target, text, location, len(self._frames), symbolic)
        try:
            with self._mlir_location(name, location):
                result = self._handler(node, target)(self, node)
            if said := self._said(node, result):
                self.nodes[name] = replace(plain, text=f"{text}  # {said}")
        except PlacedError:
            raise
        except UnsupportedError as error:
            raise PlacedError(self._refusal(node, location, str(error))) from error
        except IRWidgetError:
            raise
        except Exception as error:
            reason = f"its rule failed with {type(error).__name__}: {error}"
            raise PlacedError(self._refusal(node, location, reason)) from error
        self.values[node] = result
        self._remember_symbol(node, result)

    def _said(self, node: Any, result: Any) -> str:
        """The dtype and shape of a node's tile, or the number that its symbol is; empty where it is neither."""
        fake = node.meta.get("val")
        if isinstance(fake, torch.Tensor):
            sizes = ", ".join("?" if (s := self.static(size)) is None else str(s) for size in fake.shape)
            return f"{str(fake.dtype).removeprefix('torch.')}[{sizes}]"
        number = isinstance(result, (bool, int, float))
        return str(result) if number and isinstance(fake, (torch.SymInt, torch.SymFloat, torch.SymBool)) else ""

    def _handler(self, node: Any, target: str) -> Handler:
        """What emits a node: the rule for its op, or the importer of ATen ops."""
        handler = self.instead.get(node) or self.runs.get(node) or handler_for(target)
        if handler is None and isinstance(node.target, OpOverload):
            handler = handler_for(ANY_ATEN)
        if handler is None:
            raise UnsupportedError("irwidget has no rule for this op; register_handler adds one")
        return handler

    def _refusal(self, node: Any, location: Location | None, reason: str) -> str:
        place = f"{location}: " if location else ""
        return f"{place}{private.target_name(node.target)} (node {node.name}) cannot be lowered to MLIR: {reason}"

    def _remember_symbol(self, node: Any, result: Any) -> None:
        value = node.meta.get("val")
        if isinstance(result, ir.Value) and isinstance(value, (torch.SymInt, torch.SymFloat, torch.SymBool)):
            self.symbol_values[expression(value)] = result

    def value(self, operand: Any) -> Any:
        """What a node's argument stands for: an SSA value, a number, a list of those, or None."""
        if isinstance(operand, torch.fx.Node):
            if operand not in self.values:
                raise UnsupportedError(f"its operand {operand.name} has no value here")
            return self.values[operand]
        if isinstance(operand, (list, tuple)):
            return [self.value(item) for item in operand]
        if isinstance(operand, (torch.SymInt, torch.SymFloat, torch.SymBool)):
            return scalars.scalar(self, operand)
        if isinstance(operand, torch.Tensor) and operand in self.tensors and operand.numel() == 1:
            return memref.load(self.tensors[operand].value, [self.builder.size(0)] * operand.ndim)
        return operand

    def tensor(self, operand: Any) -> ir.Value:
        """An argument as a tensor value; numbers become 0-d tensors."""
        value = self.value(operand)
        if isinstance(value, (bool, int, float)):
            dtype = torch.bool if isinstance(value, bool) else torch.int64 if isinstance(value, int) else torch.float32
            return self.builder.from_scalar(self.builder.constant(value, self.builder.element(dtype)))
        if isinstance(value, ir.Value) and not isinstance(value.type, ir.RankedTensorType):
            element = self.builder.element(torch.float32) if value.type == self.builder.f64 else self.builder.i64
            if value.type == self.builder.i1:
                element = self.builder.i1
            return self.builder.from_scalar(self.builder.convert(value, element))
        if not isinstance(value, ir.Value):
            raise UnsupportedError(f"it needs a tensor where it has {value!r}")
        return value

    def host_tensor(self, fake: Any) -> HostTensor:
        """The argument that stands for a host tensor."""
        return self.tensors[fake]

    # --- sizes and blocks -----------------------------------------------------------

    def static(self, value: Any) -> Any:
        """The number a size or symbol stands for, None when it is known only at run time."""
        if isinstance(value, (bool, int, float)):
            return value
        if isinstance(value, (torch.SymInt, torch.SymFloat, torch.SymBool)):
            value = expression(value)
        if value not in self._static:
            self._static[value] = static_value(self.binding, value)
        return self._static[value]

    def shape(self, sizes: Sequence[Any]) -> list[int]:
        """Static sizes of a tile.

        Raises:
            UnsupportedError: a size is known only at run time.
        """
        shape: list[int] = []
        for size in sizes:
            number = self.static(size)
            if number is None:
                raise UnsupportedError(f"the tile has a size that is known only at run time ({size})")
            shape.append(int(number))
        return shape

    def shape_of(self, node: Any) -> list[int]:
        """The static shape of a node's result."""
        return self.shape(node.meta["val"].shape)

    def block_of(self, size: Any) -> int | None:
        """The block whose tile size `size` is."""
        if not isinstance(size, torch.SymInt):
            return None
        return self.binding.env.get_block_id(size)

    def loop_of(self, block_id: int | None) -> TileLoop | None:
        """The loop around this place that runs over a block, or over one it is an alias of."""
        if block_id is None:
            return None
        if block_id in self.loops:
            return self.loops[block_id]
        env = self.binding.env
        wanted = private.canonical_block(env, block_id)
        for candidate, loop in reversed(self.loops.items()):
            if private.canonical_block(env, candidate) == wanted:
                return loop
        return None

    # --- loops ----------------------------------------------------------------------

    def tile_step(self, block_id: int) -> Size:
        """The tile size of a block: a number, or the argument that says it."""
        argument = self.block_arguments.get(block_id)
        return self.tile_size(block_id) if argument is None else argument

    def tile_size(self, block_id: int) -> int:
        """The lanes of a block's tile.

        Raises:
            UnsupportedError: the host computes it, and not in a way that is known.
        """
        size = self.binding.block_sizes.get(block_id)
        if size is None:
            raise UnsupportedError(
                f"the tile size, or step, of block {block_id} is computed on the host and not known in this "
                "configuration; hl.specialize makes what it is computed from a number"
            )
        return size

    def enter_loop(
        self,
        block_id: int,
        index: ir.Value,
        begin: Size,
        end: Size,
        step: Size,
        parent: ir.Value | None = None,
        parent_blocks: Sequence[int] = (),
    ) -> None:
        """Note that a tile loop is around what follows, and how many lanes of its tile are valid.

        `index` is where the tile begins; `begin`, `end` and `step` count elements.
        """
        if isinstance(index, ir.BlockArgument):
            index.set_location(ir.Location.name(f"tile_{block_id}", ir.Location.current))
        if isinstance(step, int):
            lanes = step
            exact = isinstance(begin, int) and isinstance(end, int) and (end - begin) % step == 0
            valid: Size = step if exact or step == 1 else self.builder.minimum([step], [(index, -1)], end)
        else:
            lanes = self.tile_size(block_id)
            valid = arith.minsi(step, self.builder.subtract(end, index))
        loop = TileLoop(block_id, index, begin, end, step, valid, lanes, parent, tuple(parent_blocks))
        self.loops = {**self.loops, block_id: loop}

    # --- arguments --------------------------------------------------------------------

    def _read_sizes(self) -> None:
        """Read what the function's arguments say of the sizes that the kernel leaves open."""
        for fake, tensor in self.tensors.items():
            for dim, size in enumerate(map(expression, fake.shape)):
                if size in self.binding.free and size not in self.symbol_values:
                    self.symbol_values[size] = memref.dim(tensor.value, self.builder.size(dim))

    def _read_tile_sizes(self) -> None:
        """Take the tile sizes that stay open as arguments; the numbers of the configuration are the largest."""
        for block_id, said_by in self.binding.open_blocks.items():
            symbol = self.binding.env.block_sizes[block_id].symbol()
            if symbol not in self.symbol_values:
                argument = self.host_scalar(said_by, self.builder.index, f"block_size_{block_id}")
                self.symbol_values[symbol] = argument
            self.block_arguments[block_id] = self.symbol_values[symbol]

    def _add_tensor(self, fake: Any, written: set[Any]) -> None:
        if fake in self.tensors:
            return
        origin = self.binding.host.tensor_to_origin[fake]
        shape = tuple(-1 if (s := self.static(size)) is None else int(s) for size in fake.shape)
        strides = self._strides(fake)
        kind = self.builder.memref_type(
            [size if size >= 0 else DYNAMIC for size in shape],
            self._element(fake.dtype),
            None if strides is None else [stride if stride >= 0 else DYNAMIC for stride in strides],
        )
        name = self._unique(origin.suggest_var_name())
        location = ir.Location.name(name, self._mlir_location(name, self._kernel_location()))
        value = self._block.add_argument(kind, location)
        self.tensors[fake] = HostTensor(
            name, origin.host_str(), fake.dtype, shape, strides, value, storage_id(fake) in written
        )

    def _strides(self, fake: Any) -> tuple[int, ...] | None:
        """In elements, negative where known only at run time; None for a contiguous tensor."""
        step: Any = 1
        contiguous = True
        for size, stride in zip(reversed(fake.shape), reversed(fake.stride()), strict=True):
            contiguous = contiguous and step == (stride if isinstance(stride, int) else expression(stride))
            step = step * (size if isinstance(size, int) else expression(size))
        if contiguous:
            return None
        return tuple(-1 if (s := self.static(stride)) is None else int(s) for stride in fake.stride())

    def _element(self, dtype: torch.dtype) -> ir.Type:
        try:
            return self.builder.element(dtype)
        except KeyError:
            raise UnsupportedError(f"{self._kernel_location()}: MLIR has no element type for {dtype}") from None

    def host_scalar(self, host_expression: str, kind: ir.Type, name: str = "") -> ir.Value:
        """A number of the host function, as a trailing argument."""
        if host_expression not in self.scalars:
            name = self._unique(name or "".join(c if c.isalnum() else "_" for c in host_expression))
            location = ir.Location.name(name, self._mlir_location(name, self._kernel_location()))
            self.scalars[host_expression] = HostScalar(name, host_expression, self._block.add_argument(kind, location))
        return self.scalars[host_expression].value

    def _unique(self, name: str) -> str:
        candidate, count = name, 0
        while candidate in self._used_names:
            count += 1
            candidate = f"{name}_{count}"
        self._used_names.add(candidate)
        return candidate

    def _written_storages(self) -> set[Any]:
        """The storages that the kernel may write to: by address, all but those that hold addresses."""
        by_address = any(addresses.stacked(self.binding.graphs).values())
        tensors = self.binding.host.tensor_to_origin if by_address else ()
        written = {storage_id(fake) for fake in tensors if fake.dtype != torch.uint64}
        for info in self.binding.graphs:
            for node in info.graph.nodes:
                name = private.target_name(node.target)
                if name == "store" or name.startswith("atomic_"):
                    target = node.args[0]
                    if isinstance(target, torch.fx.Node) and isinstance(target.meta.get("val"), torch.Tensor):
                        written.add(storage_id(target.meta["val"]))
        return aliasing.with_shared(self.binding, written)

    # --- places ---------------------------------------------------------------------------

    def _kernel_location(self) -> Location:
        code = self.binding.kernel.fn.__code__
        return Location(code.co_filename, code.co_firstlineno)

    def source_of(self, node: Any) -> Location | None:
        """The kernel's line that a node is of."""
        location = node.meta.get("location")
        if location is None or not getattr(location, "filename", None):
            return None
        return Location(location.filename, int(location.lineno))

    def _mlir_location(self, name: str, location: Location | None) -> ir.Location:
        if location is None:
            return ir.Location.name(name, context=self.context)
        place = ir.Location.file(location.file, location.line, location.column, context=self.context)
        return ir.Location.name(name, place, context=self.context)
