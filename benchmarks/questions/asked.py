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
    (
        "scans",
        "scans.py",
        "torch_mlir",
        ["--pipeline", "torch-mlir-opt --pass-pipeline=builtin.module(func.func(convert-torch-to-tosa))"],
    ),
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


def _row(ask: Ask, low: str, **wanted: str) -> Mapping[str, Any]:
    answer = ask("passes", lowering=low)
    rows = answer["items"]
    while "next" in answer:
        answer = ask("passes", lowering=low, first=answer["next"])
        rows = [*rows, *answer["items"]]
    return next(row for row in rows if wanted.items() <= row.items())


def _fact(ask: Ask, name: str) -> Any:
    return ask("overview", lowering="triton")["facts"][name]


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
    Question("How many programs does the launch run?", lambda ask: _fact(ask, "grid")["items"], [4]),
    Question("How many warps has each?", lambda ask: _fact(ask, "num_warps"), 4),
    Question("Which line launches the kernel?", lambda ask: _fact(ask, "launched_at"), "line 17"),
    Question(
        "For which processor is the layout chosen?",
        lambda ask: (
            "target=cuda:90" in _row(ask, "triton", **{"pass": "convert-triton-to-tritongpu"})["options"].split()
        ),
        True,
    ),
    Question(
        "Which pass makes LLVM IR of the kernel's MLIR?",
        lambda ask: _row(ask, "triton", note="from mlir to llvm")["pass"],
        "translate-to-llvm-ir",
    ),
    Question(
        "Why is there no diff of the PTX?",
        lambda ask: ask("diff", lowering="triton", which="translate-to-asm")["note"],
        "not compared: llvm became ptx",
    ),
    Question(
        "How many elements does a thread load at once?",
        lambda ask: [
            line.split("ld.global.")[1].split(".")[0]
            for line in ask("search", lowering="triton", text=r"ld\.global\.v\d", regex=True, which=-1)["items"]
        ],
        ["v4", "v4"],
    ),
    Question(
        "How many lines of Triton's IR does the line of the sum become?",
        lambda ask: ask("made_of", lowering="triton", line=11, which="inline")["total"],
        7,
    ),
    Question(
        "Which line of the kernel writes to memory?",
        lambda ask: _code(ask, "triton", "-1", "st.global"),
        "tl.store(y_ptr + offsets, x - total, mask=mask)",
    ),
    Question(
        "How many kinds of operations does the kernel start from?",
        lambda ask: ask("operations", lowering="triton", which=1)["kinds"],
        18,
    ),
    Question(
        "What do all passes together make of the product in @kept?",
        lambda ask: [
            line[1:].strip()
            for line in ask("diff", lowering="loops", which=-1, against=0)["items"]
            if line[0] in "+-" and ".mul " in line
        ],
        ["%1 = llvm.mul %arg0, %0 : i32"],
    ),
    Question(
        "How many operations more does the pipeline that goes on to LLVM's dialect leave?",
        lambda ask: ask("compare", left="loops", right="plain")["costs"]["operations"],
        [22, 18],
    ),
    Question(
        "Do both pipelines end in the same text?",
        lambda ask: ask("compare", left="loops", right="plain")["ends_the_same"],
        False,
    ),
    Question(
        "Which passes does only the first of both run?",
        lambda ask: [
            row["pass"]
            for row in ask("compare", left="loops", right="plain")["not_the_same"]["items"]
            if row["state"] == "only left"
        ],
        ["loop-invariant-code-motion", "convert-arith-to-llvm"],
    ),
    Question(
        "Which pass changes what @kept returns?",
        lambda ask: _line(ask, "loops", "-1", "return %")["last_changed_by"],
        "input",
    ),
    Question(
        "With which arguments does the step run that changes nothing?",
        lambda ask: [row["options"] for row in ask("passes", lowering="opt")["items"] if row.get("new") == 0],
        ["-passes=simplifycfg"],
    ),
    Question(
        "Of which type is the index of the address at the end?",
        lambda ask: _line(ask, "opt", "-1", "getelementptr")["text"].split(", ")[-1],
        "i64 %0",
    ),
    Question(
        "Does a PHI, in capitals, occur anywhere?",
        lambda ask: ask("search", lowering="opt", text="PHI", case=True)["note"],
        "in no pass of 4 that are here",
    ),
    Question(
        "What does the LLVM IR of the model define?",
        lambda ask: [
            line.split("@")[1].split("(")[0]
            for line in ask("search", lowering="llvm", text="^define", regex=True, which=-1)["items"]
        ],
        ["main"],
    ),
    Question(
        "What can become of a Triton kernel besides its own two dialects?",
        lambda ask: [name for name, from_ in ask("targets").items() if from_.startswith("from triton")][2:],
        ["triton_llvm_ir", "triton_nvptx", "triton_amdgpu", "triton_sass"],
    ),
)
