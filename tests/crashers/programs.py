"""PyTorch models, arguments and options that are odd; Helion kernels; cells."""

from __future__ import annotations

import asyncio
import collections
import dataclasses
import functools
from typing import Any, NamedTuple

import torch
from torch import nn

from tests.crashers.cases import Case, Corpus, Made

CORPUS = Corpus()
LINALG = "linalg_on_tensors_mlir"


def model(
    title: str,
    why: str,
    obj: object,
    /,
    *inputs: object,
    match: str = "",
    to: Any = "torch_mlir",
    fits: bool = False,
    **given: Any,
) -> None:
    CORPUS.lower(f"model {title}", why, obj, *inputs, to=to, match=match, fits=fits, **given)


def ones(*shape: int, dtype: torch.dtype = torch.float32) -> Made:
    return Made(lambda: torch.ones(shape, dtype=dtype))


class Of(nn.Module):
    """A module of a function."""

    def __init__(self, function: Any) -> None:
        super().__init__()
        self.function = function

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)


# --- what eager PyTorch refuses, and torch-mlir

for dtype in ("uint16", "uint64"):
    model(
        f"a tensor of {dtype}, which has no type",
        "the importer's tables do not have it",
        Of(lambda x: x + x),
        ones(4, dtype=getattr(torch, dtype)),
        match=f"torch-mlir cannot import Of: it has no type for torch.{dtype}",
        never=("KeyError",),
    )
for module, size in ((nn.Linear(4, 2), (1, 4)), (nn.Conv2d(4, 2, 1), (1, 4, 3, 3)), (nn.LSTM(4, 2), (1, 4))):
    model(
        f"integers for {type(module).__name__}",
        "torch.export lets it through",
        module,
        ones(*size, dtype=torch.int64),
        match="eager PyTorch refuses|should be the same|dtype",
    )
model("a builtin", "it has no signature", torch.erf, ones(4), fits=True)
model("a builtin that it does not fit", "it has no signature", torch.erf, "x", match="erf")

# --- sizes

for name, tensor in (
    ("of no elements", ones(0)),
    ("of no elements in a wide shape", ones(4, 0, 2**20)),
    ("without a dimension", ones()),
    ("of 64 dimensions", ones(*[1] * 64)),
    ("of 2^40 elements, all one", Made(lambda: torch.ones(1).expand(2**40))),
    ("of 2^62 elements, all one", Made(lambda: torch.ones(1).expand(2**62))),
    ("on no device", Made(lambda: torch.empty(2**40, device="meta"))),
    ("that is sparse", Made(lambda: torch.eye(3).to_sparse())),
    ("that is compressed", Made(lambda: torch.eye(3).to_sparse_csr())),
    ("that is nested", Made(lambda: torch.nested.nested_tensor([torch.ones(2), torch.ones(3)]))),
    ("that is quantised", Made(lambda: torch.quantize_per_tensor(torch.ones(4), 0.1, 0, torch.qint8))),
    ("with a gradient", Made(lambda: torch.ones(4, requires_grad=True) * 2)),
    ("that is a view backwards", Made(lambda: torch.ones(4, 4).t()[::2])),
    ("conjugated", Made(lambda: torch.ones(4, dtype=torch.complex64).conj())),
    ("of a subclass", Made(lambda: torch.ones(4).as_subclass(type("Mine", (torch.Tensor,), {})))),
    ("that is a parameter", Made(lambda: nn.Parameter(torch.ones(4)))),
):
    model(f"a tensor {name}", "shapes are multiplied and storages looked at", Of(lambda x: x + x), tensor)
for dtype in (
    "bool",
    "uint8",
    "int8",
    "int16",
    "int64",
    "float16",
    "bfloat16",
    "float64",
    "complex64",
    "complex128",
    "float8_e4m3fn",
    "float8_e5m2",
    "uint16",
    "uint64",
):
    model(f"a tensor of {dtype}", "types that few ops have", Of(lambda x: x + x), ones(4, dtype=getattr(torch, dtype)))

# --- pytrees and arguments


@dataclasses.dataclass
class Point:
    x: Any
    y: Any


class Pair(NamedTuple):
    a: Any
    b: Any


class Hostile:
    """Whatever it is asked, it raises."""

    def __repr__(self) -> str:
        raise ValueError("no repr")

    def __getattr__(self, name: str) -> Any:
        raise ValueError(f"no {name}")

    def __eq__(self, other: object) -> bool:
        raise ValueError("not comparable")

    def __hash__(self) -> int:
        raise ValueError("no hash")


def circular() -> list[Any]:
    found: list[Any] = [torch.ones(2)]
    found.append(found)
    return found


def nested(depth: int) -> Any:
    found: Any = torch.ones(2)
    for _ in range(depth):
        found = [found]
    return found


def first(tree: Any) -> torch.Tensor:
    while not isinstance(tree, torch.Tensor):
        tree = next(iter(tree.values() if isinstance(tree, dict) else tree))
    return tree + 1


for name, tree in (
    ("a dict", {"a": torch.ones(2)}),
    ("a dict by numbers", {1: torch.ones(2), -1: torch.ones(2)}),
    ("a dict by NUL", {"\x00": torch.ones(2)}),
    ("a dict by surrogates", {"\udcff": torch.ones(2)}),
    ("a named tuple", Pair(torch.ones(2), 1)),
    ("an ordered dict", collections.OrderedDict(a=torch.ones(2))),
    ("an empty list", []),
    ("a list in itself", Made(circular)),
    ("200 lists", Made(lambda: nested(200))),
    ("100,000 lists", Made(lambda: nested(100_000))),
    ("100 tensors", Made(lambda: [torch.ones(1)] * 100)),
    ("a set", {1, 2}),
    ("a generator", Made(lambda: (torch.ones(2) for _ in range(3)))),
    ("a defaultdict", collections.defaultdict(list)),
):
    model(f"given {name}", "inputs are flattened recursively", Of(first), tree)
for name, value in (
    ("nothing", None),
    ("a number", 3),
    ("2^63", 2**63),
    ("2^200", 2**200),
    ("NaN", float("nan")),
    ("infinity", float("inf")),
    ("a complex number", 1j),
    ("text", "größe \x00 \udcff"),
    ("bytes", b"\xff"),
    ("a class", nn.Linear),
    ("a function", len),
    ("an object", object()),
    ("a hostile object", Hostile()),
    ("a point", Point(1, 2)),
    ("a device", torch.device("cpu")),
    ("a dtype", torch.float32),
    ("a slice", slice(0, 2)),
    ("a range", range(3)),
    ("an ellipsis", ...),
    ("a module", torch),
    ("numpy", Made(lambda: torch.ones(2).numpy())),
):
    model(f"given a tensor and {name}", "constants of the graph", Of(lambda x, y: x + 1), ones(2), value)
model("given too many arguments", "a call that does not fit", nn.Linear(2, 2), ones(1, 2), ones(1, 2), match="argument")
model("given none", "a call that does not fit", nn.Linear(2, 2), match="argument|input")
model("given a wrong shape", "eager fails, too", nn.Linear(2, 2), ones(1, 3), match="shape|size")
model(
    "given a wrong type",
    "eager fails, too",
    nn.Linear(2, 2),
    ones(1, 2, dtype=torch.int64),
)
model(
    "given an unknown keyword",
    "a call that does not fit",
    nn.Linear(2, 2),
    ones(1, 2),
    kwargs={"nosuch": 1},
    match="nosuch",
)
model(
    "given keywords that are no names", "keywords are text", Of(lambda x, **k: x + 1), ones(2), kwargs={"a b": 1, "": 2}
)

# --- what a forward may do


def raises(error: BaseException) -> Any:
    def forward(x: Any) -> Any:
        raise error

    return forward


def recursive(x: Any) -> Any:
    return recursive(x)


def generator(x: Any) -> Any:
    yield x


async def awaited(x: Any) -> Any:
    await asyncio.sleep(0)
    return x


def changes(x: Any) -> Any:
    x.add_(1)
    x.resize_(1)
    return x


def by_value(x: Any) -> Any:
    return x + 1 if x.sum() > 0 else x - 1


def grows(x: Any) -> Any:
    return x[x > 0]


def writes_globals(x: Any) -> Any:
    global WRITTEN
    WRITTEN = x
    return x + 1


def prints(x: Any) -> Any:
    print("\x1b[2J", x, "\udcff".encode(errors="replace"))
    return x + 1


for error in (
    ValueError("\x1b[31m \udcff"),
    KeyError(),
    AssertionError(),
    MemoryError("mine"),
    RecursionError("mine"),
    StopIteration(),
    NotImplementedError("mine"),
    OSError(28, "No space left"),
):
    model(
        f"that raises {type(error).__name__}",
        "the user's error is the cause",
        Of(raises(error)),
        ones(2),
        match=type(error).__name__,
    )
for name, function in (
    ("nothing", lambda x: None),
    ("text", lambda x: "text"),
    ("its input", lambda x: x),
    ("a number", lambda x: 3),
    ("an object", lambda x: object()),
    ("a dict", lambda x: {"a": x + 1, "b": [x]}),
    ("nothing at all", lambda x: ()),
    ("a point", lambda x: Point(x, x)),
    ("a function", lambda x: x.add),
    ("a shape", lambda x: x.shape),
    ("the same twice", lambda x: (x, x)),
    ("a generator", generator),
    ("a coroutine", awaited),
    ("itself", recursive),
):
    model(f"that returns {name}", "results are flattened, too", Of(function), ones(2))
for name, function in (
    ("changes its input", changes),
    ("branches on values", by_value),
    ("has a shape that depends on values", grows),
    ("writes globals", writes_globals),
    ("prints", prints),
    ("reads a value", lambda x: x * x.sum().item()),
    ("leaves torch", lambda x: torch.from_numpy(x.numpy() + 1)),
    ("makes 2^40 elements", lambda x: torch.zeros(2**40)),
    ("makes 2^70 elements", lambda x: torch.zeros(2**70)),
    ("makes nothing", lambda x: torch.zeros(0, 5) @ torch.zeros(5, 0)),
    ("divides by zero", lambda x: x // 0),
    ("has a constant of 2^80", lambda x: x + 2**80),
    ("concatenates nothing", lambda x: torch.cat([])),
    ("indexes out of range", lambda x: x[7]),
    ("reshapes wrongly", lambda x: x.view(3)),
    ("goes to a GPU", lambda x: x.cuda() + 1),
    ("draws", lambda x: x + torch.rand(2)),
    ("sets the seed", lambda x: (torch.manual_seed(0), x + torch.rand(2))[1]),
    ("compiles", lambda x: torch.compile(lambda y: y + 1)(x)),
    ("exports", lambda x: torch.export.export(Of(lambda y: y + 1), (x,)).module()(x)),
    ("asks for gradients", lambda x: torch.autograd.grad((x.requires_grad_() ** 2).sum(), x)[0]),
    ("sorts", lambda x: x.sort().values),
    (
        "has an einsum of 10 letters",
        lambda x: torch.einsum("ab,bc,cd,de,ef,fg,gh,hi,ij->aj", *[x.reshape(1, 2).T @ x.reshape(1, 2)] * 9),
    ),
):
    model(f"that {name}", "Python beside tensors", Of(function), ones(2))
for name, obj in (
    ("nothing", None),
    ("a class", nn.Linear),
    ("a module without forward", nn.Module()),
    ("a number", 3),
    ("a list", [nn.Linear(2, 2)]),
    ("a module list", nn.ModuleList([nn.Linear(2, 2)])),
    ("a builtin", len),
    ("a C function", torch.add),
    ("a partial", functools.partial(torch.add, 1)),
    ("a hostile object", Hostile()),
    ("a lambda", lambda x: x + 1),
    ("a script", Made(lambda: torch.jit.trace(nn.Linear(2, 2), torch.ones(1, 2)))),
    ("a compiled model", Made(lambda: torch.compile(nn.Linear(2, 2)))),
    ("a data parallel model", Made(lambda: nn.DataParallel(nn.Linear(2, 2)))),
    ("a meta model", Made(lambda: nn.Linear(2, 2, device="meta"))),
    ("a lazy model", Made(lambda: nn.LazyLinear(2))),
    ("half a model", Made(lambda: nn.Linear(2, 2).half())),
    ("a model of dropout in training", Made(lambda: nn.Dropout(0.5).train())),
):
    model(f"that is {name}", "what stands where a model should", obj, ones(1, 2))
model(
    "of 200 layers in each other",
    "modules are walked recursively",
    Made(lambda: functools.reduce(lambda inner, _: nn.Sequential(inner), range(200), nn.Linear(2, 2))),
    ones(1, 2),
)
model(
    "of 100 operations",
    "a graph that is one chain",
    Of(lambda x: functools.reduce(lambda y, i: y + i, range(100), x)),
    ones(2),
    fits=True,
    timeout=30.0,
)

# --- options

for option, value, said in (
    ("to", "nosuch", "nosuch"),
    ("to", "", ""),
    ("to", "\x00", ""),
    ("to", "TOSA_MLIR", ""),
    ("to", [], ""),
    ("to", ["torch_mlir", "nosuch"], "nosuch"),
    ("arch", "sm_1", ""),
    ("arch", "../../etc", ""),
    ("O", 9, ""),
    ("O", -1, ""),
    ("kernels", "maybe", ""),
    ("route", "nosuch", "nosuch"),
    ("nosuch", 1, "nosuch"),
    ("config", 3, "config"),
    ("name", "\x00../../x</script>\x1b[2J", ""),
    ("name", "x" * 100_000, ""),
    ("dynamic_shapes", {"nosuch": {0: 3}}, ""),
    ("dynamic_shapes", 5, ""),
    ("pipeline", "\x00", ""),
    ("pipeline", "mlir-opt --pass-pipeline='" + "any(" * 3000 + ")" * 3000 + "'", ""),
    ("pipeline", " | ".join(["mlir-opt --cse"] * 200), ""),
    ("pipeline", "|" * 10_000, ""),
    ("pipeline", "user-tool sh -c 'exit 77'", "77"),
    ("pipeline", "user-tool sh -c 'echo \x1b[31mred >&2; exit 1'", "red"),
    ("pipeline", "user-tool sh -c 'head -c 20000000 /dev/zero >&2; exit 1'", "exited"),
    ("timeout", 0.001, "timed out"),
):
    target = value if option == "to" else "nvptx" if option in ("arch", "O") else LINALG
    given = {} if option == "to" else {option: value}
    model(
        f"with {option}={str(value)[:30]!a}",
        "options are the user's",
        nn.Linear(2, 2),
        ones(1, 2),
        to=target,
        match=said,
        **given,
    )

# --- Helion

try:
    import helion
    import helion.language as hl
except ImportError:
    helion = None

if helion is not None:

    @helion.kernel(config=helion.Config(block_sizes=[16]))
    def adds(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        out = torch.empty_like(x)
        for tile in hl.tile(x.size(0)):
            out[tile] = x[tile] + y[tile]
        return out

    @helion.kernel(config=helion.Config(block_sizes=[16]))
    def hosts(x: torch.Tensor) -> torch.Tensor:
        return x + 1

    @helion.kernel(config=helion.Config(block_sizes=[16]))
    def undefined(x: torch.Tensor) -> torch.Tensor:
        for tile in hl.tile(x.size(0)):
            x[tile] = nowhere[tile]  # noqa: F821
        return x

    @helion.kernel(config=helion.Config(block_sizes=[16]))
    def recurses(x: torch.Tensor) -> torch.Tensor:
        for tile in hl.tile(x.size(0)):
            x[tile] = recurses(x[tile])
        return x

    @helion.kernel(config=helion.Config(block_sizes=[16]))
    def in_python(x: torch.Tensor) -> torch.Tensor:
        for tile in hl.tile(x.size(0)):
            x[tile] = torch.from_numpy(x[tile].numpy())
        return x

    @helion.kernel(config=helion.Config(block_sizes=[16]))
    def fails(x: torch.Tensor) -> torch.Tensor:
        raise ValueError("mine \x1b[31m")

    @helion.kernel(config=helion.Config(block_sizes=[16]))
    def asm(x: torch.Tensor) -> torch.Tensor:
        for tile in hl.tile(x.size(0)):
            x[tile] = hl.inline_asm_elementwise(
                "nonsense", "=r,r", [x[tile]], dtype=torch.float32, is_pure=True, pack=0
            )
        return x

    @helion.kernel(config=helion.Config(block_sizes=[16]))
    def tile_of_text(x: torch.Tensor) -> torch.Tensor:
        for tile in hl.tile("x"):
            x[tile] = x[tile] + 1
        return x

    @helion.kernel(config=helion.Config(block_sizes=[16]))
    def divides(x: torch.Tensor) -> torch.Tensor:
        for tile in hl.tile(x.size(0) // 0):
            x[tile] = x[tile] + 1
        return x

    @helion.kernel(config=helion.Config(block_sizes=[16]))
    def größe(x: torch.Tensor) -> torch.Tensor:
        über = torch.empty_like(x)
        for kachel in hl.tile(x.size(0)):
            über[kachel] = x[kachel] + 1
        return über

    def kernel(
        name: str, why: str, function: object, *inputs: object, match: str = "", to: str = "helion_mlir", **given: Any
    ) -> None:
        CORPUS.lower(f"helion {name}", why, function, *inputs, to=to, match=match, **given)

    for kernel_ in (hosts, undefined, recurses, in_python, fails, asm, tile_of_text, divides, größe):
        for to in ("helion_mlir", "triton_gpu_ir"):
            kernel(
                f"{kernel_.fn.__name__} to {to}",
                "a kernel that is wrong in its own way",
                kernel_,
                ones(32),
                to=to,
                match="" if kernel_ in (größe, asm) else kernel_.fn.__name__,
            )
    for name, inputs in {
        "two shapes": (ones(32), ones(31)),
        "two types": (ones(32), ones(32, dtype=torch.int64)),
        "no elements": (ones(0), ones(0)),
        "no dimension": (ones(), ones()),
        "one argument": (ones(32),),
        "text": ("x", "y"),
        "nothing": (None, None),
        "complex numbers": (ones(32, dtype=torch.complex64), ones(32, dtype=torch.complex64)),
        "sparse": (Made(lambda: torch.ones(8).to_sparse()),) * 2,
        "2^40 elements": (Made(lambda: torch.ones(1).expand(2**40)),) * 2,
        "one element": (ones(1), ones(1)),
    }.items():
        kernel(f"adds with {name}", "arguments that do not fit", adds, *inputs)
    for option, value in (
        ("config", {"block_sizes": [0]}),
        ("config", {"block_sizes": [-16]}),
        ("config", {"block_sizes": [3]}),
        ("config", {"block_sizes": [2**40]}),
        ("config", {"block_sizes": ["x"]}),
        ("config", {"block_sizes": []}),
        ("config", {"nosuch": 1}),
        ("config", 5),
        ("aten", "nosuch"),
    ):
        kernel(
            f"adds with {option}={value!a}",
            "configurations are the user's",
            adds,
            ones(32),
            ones(32),
            **{option: value},
        )

# --- cells

CELLS = {
    "a syntax error": ("--to tosa_mlir", "x = (\n"),
    "an error": ("--to tosa_mlir", "1 / 0"),
    "an exit": ("--to tosa_mlir", "raise SystemExit"),
    "a stray quote": ("--to 'tosa_mlir", "x = 1"),
    "no target": ("", "x = 1"),
    "an unknown option": ("--nosuch", "x = 1"),
    "NUL in its line": ("--to tosa\x00mlir", "x = 1"),
    "2,000 lines": ("--to tosa_mlir", "x = 1\n" * 2000),
    "a line of 1 MB": ("--to tosa_mlir", f"x = '{'y' * 1_000_000}'"),
    "surrogates": ("--to tosa_mlir", "x = '\udcff'"),
    "a kernel of Triton that is none": ("--to triton_ir", "import torch"),
    "a timeout that is no number": ("--to raw_ir --timeout soon", "module {}"),
    "raw IR that does not parse": ("--to raw_ir --text", "func.func @f( {\n"),
    "raw IR with escapes": ("--to raw_ir --text", 'func.func @f() attributes {a = "\x1b[2J\x00"} {\n  return\n}'),
    "raw IR with surrogates": ("--to raw_ir --text", "module {} // \udcff"),
    "many targets": ("--to " + "tosa_mlir," * 500, "x = 1"),
}


def cell(line: str, text: str) -> object:
    """Run a cell as a notebook does; errors that IPython shows are none of ours."""
    from IPython.core.interactiveshell import InteractiveShell

    from irwidget.cells import AlreadyShown

    shell = InteractiveShell()
    shell.run_line_magic("load_ext", "irwidget")
    result = shell.run_cell(f"%%lower {line}\n{text}", store_history=False)
    shown = result.error_in_exec or result.error_before_exec
    if shown is not None and not isinstance(shown, (AlreadyShown, SyntaxError)):
        raise shown
    return result


for name, (line, text) in CELLS.items():
    CORPUS.add(Case(f"cell with {name}", "cells are typed by people", functools.partial(cell, line, text)))
