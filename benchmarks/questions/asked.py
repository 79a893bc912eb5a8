"""The questions, what the tools are asked to answer each, and the answer that is known."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

Ask = Callable[..., Mapping[str, Any]]
"""Calls a tool by its name, as a client of the server does."""

LOWERINGS: tuple[tuple[str, str, str, list[str]], ...] = (
    ("linalg", "model.py", "linalg_on_tensors_mlir", []),
    ("llvm", "model.py", "llvm_ir", ["--check"]),
    ("triton", "kernel.py", "triton_nvptx", ["--arch", "sm_90"]),
    (
        "loops",
        "loops.mlir",
        "",
        [
            "--pipeline",
            "mlir-opt --loop-invariant-code-motion --canonicalize --cse --symbol-dce --convert-scf-to-cf "
            "--convert-arith-to-llvm",
        ],
    ),
    ("plain", "loops.mlir", "", ["--pipeline", "mlir-opt --canonicalize --cse --symbol-dce --convert-scf-to-cf"]),
    ("opt", "code.ll", "", ["--pipeline", "opt -passes=mem2reg | opt -passes=instcombine | opt -passes=simplifycfg"]),
    ("scans", "scans.py", "tosa_mlir", []),
)
"""What is asked about: a short name, the program, the IR type and more words of the command line."""


@dataclass(frozen=True)
class Question:
    """A question, how the tools answer it, and what is true."""

    text: str
    ask: Callable[[Ask], Any]
    answer: Any


def _first(ask: Ask, low: str, text: str, **more: Any) -> str:
    return ask("search", lowering=low, text=text, **more)["items"][0]["pass"]


def _last(ask: Ask, low: str, text: str) -> tuple[str, int]:
    row = ask("search", lowering=low, text=text)["items"][-1]
    return row["pass"], row["lines"]


def _count(ask: Ask, low: str, which: str, op: str) -> int:
    return ask("operations", lowering=low, which=which)["operations"].get(op, 0)


def _line(ask: Ask, low: str, which: str, text: str) -> Mapping[str, Any]:
    found = ask("search", lowering=low, text=text, which=which)["items"]
    return ask("line", lowering=low, which=which, number=int(found[0].split(":")[0]))


def _code(ask: Ask, low: str, which: str, text: str) -> str:
    return _line(ask, low, which, text)["source"]["code"]


def _changed(ask: Ask, low: str) -> list[str]:
    return [row["pass"] for row in ask("passes", lowering=low, changed=True)["items"]]


def _signed(ask: Ask, low: str, which: str, sign: str) -> list[str]:
    lines = ask("diff", lowering=low, which=which)["items"]
    return [line[1:].strip() for line in lines if line.startswith(sign)]


GELU, SOFTMAX = "h = torch.nn.functional.gelu(self.wide(x))", "return torch.softmax(x + h, dim=-1)"

QUESTIONS = (
    Question(
        "Which pass turns the model into linalg operations?",
        lambda ask: _first(ask, "linalg", "linalg.generic"),
        "convert-torch-to-linalg",
    ),
    Question(
        "How many matrix products does the model have at linalg?",
        lambda ask: _count(ask, "linalg", "-1", "linalg.matmul"),
        2,
    ),
    Question(
        "Which pass allocates the model's first buffer?",
        lambda ask: _first(ask, "llvm", "memref.alloc"),
        "one-shot-bufferize",
    ),
    Question(
        "How many buffers does bufferization allocate?",
        lambda ask: ask("search", lowering="llvm", text="memref.alloc()")["items"][0]["lines"],
        7,
    ),
    Question(
        "After which pass is there no loop of scf left?",
        lambda ask: _last(ask, "llvm", "scf.for"),
        ("convert-scf-to-cf", 0),
    ),
    Question(
        "How many loops are there before that?",
        lambda ask: ask("search", lowering="llvm", text="scf.for")["items"][0]["lines"],
        36,
    ),
    Question(
        "Which pass makes a call to the C library of the error function?",
        lambda ask: _first(ask, "llvm", "call @erff"),
        "convert-math-to-libm",
    ),
    Question(
        "Which line of the model needs the error function?",
        lambda ask: _code(ask, "linalg", "convert-torch-to-linalg", "math.erf"),
        GELU,
    ),
    Question(
        "Which line of the model becomes the exponential?",
        lambda ask: _code(ask, "linalg", "convert-torch-to-linalg", "math.exp"),
        SOFTMAX,
    ),
    Question(
        "Which line of the model does the first matrix product come from?",
        lambda ask: _code(ask, "linalg", "-1", "linalg.matmul"),
        GELU,
    ),
    Question(
        "Is the LLVM IR equal to eager PyTorch?",
        lambda ask: ask("overview", lowering="llvm")["check"].split(" after")[0],
        "equal to eager PyTorch",
    ),
    Question(
        "Which passes change the model between torch.export and linalg?",
        lambda ask: _changed(ask, "linalg")[:3],
        ["torch-match-quantized-custom-ops", "torch-decompose-complex-ops", "convert-torch-to-linalg"],
    ),
    Question(
        "Which pass splits softmax into simpler operations?",
        lambda ask: _first(ask, "linalg", "torch.aten.exp"),
        "torch-decompose-complex-ops",
    ),
    Question(
        "How many functions does the module have when its casts are reconciled?",
        lambda ask: _count(ask, "llvm", "reconcile-unrealized-casts", "llvm.func"),
        3,
    ),
    Question(
        "Which pass of Triton gives the tensors a layout?",
        lambda ask: _first(ask, "triton", "#ttg.blocked"),
        "convert-triton-to-tritongpu",
    ),
    Question(
        "Which line of the kernel is the reduction?",
        lambda ask: _code(ask, "triton", "inline", "tt.reduce"),
        "total = tl.sum(x * factor, axis=0)",
    ),
    Question(
        "Where does the shuffle between threads come from?",
        lambda ask: _code(ask, "triton", "-1", "shfl.sync"),
        "total = tl.sum(x * factor, axis=0)",
    ),
    Question(
        "How many barriers does the PTX have?",
        lambda ask: len(ask("search", lowering="triton", text="bar.sync", which="translate-to-asm")["items"]),
        1,
    ),
    Question(
        "Which pass moves the constant sum out of the loop?",
        lambda ask: _line(ask, "loops", "loop-invariant-code-motion", "arith.addf")["last_changed_by"],
        "loop-invariant-code-motion",
    ),
    Question(
        "What does canonicalize fold that sum into?",
        lambda ask: _signed(ask, "loops", "canonicalize", "+"),
        ["%cst = arith.constant 4.000000e+00 : f32"],
    ),
    Question(
        "Which pass removes the unused function?",
        lambda ask: _last(ask, "loops", "@unused"),
        ("symbol-dce", 0),
    ),
    Question(
        "Which passes leave everything as it was?",
        lambda ask: [
            row["pass"] for row in ask("passes", lowering="loops")["items"] if row.get("gone") == row.get("new") == 0
        ],
        ["cse"],
    ),
    Question(
        "How many casts are left between index and i64 at the end?",
        lambda ask: _count(ask, "loops", "-1", "builtin.unrealized_conversion_cast"),
        4,
    ),
    Question(
        "Which pass runs in one pipeline of the loops and not in the other, first?",
        lambda ask: ask("compare", left="loops", right="plain")["not_the_same"]["items"][0]["pass"],
        "loop-invariant-code-motion",
    ),
    Question(
        "Which step makes a phi of the stack slot?",
        lambda ask: ask("search", lowering="opt", text="%total.0 = phi")["items"][0]["number"],
        1,
    ),
    Question(
        "What does the second step add?",
        lambda ask: _signed(ask, "opt", "2", "+")[0],
        "%0 = sext i32 %i to i64",
    ),
    Question(
        "Which pass fails on the model that multiplies its elements up?",
        lambda ask: ask("overview", lowering="scans")["failure"]["pass"],
        "convert-torch-to-tosa",
    ),
    Question(
        "On which operation?",
        lambda ask: "torch.aten.cumprod" in ask("overview", lowering="scans")["failure"]["message"],
        True,
    ),
    Question(
        "Which line of the model is that?",
        lambda ask: _code(ask, "scans", "-1", "torch.aten.cumprod"),
        "scanned = torch.cumprod(kept, dim=-1)",
    ),
    Question(
        "How small is the smallest program that fails in the same way?",
        lambda ask: ask("reduce", lowering="scans", seconds=60)["operations"][1] <= 5,
        True,
    ),
)
