"""Texts of IR that compilers may not bear: MLIR, LLVM IR, TTIR."""

from __future__ import annotations

import random
from typing import Any

from tests.crashers.cases import Corpus, Made

CORPUS = Corpus()

MLIR = """#map = affine_map<(d0) -> (d0)>
module attributes {a.b = "c"} {
  func.func @main(%x: tensor<4xf32>, %n: index) -> tensor<4xf32> {
    %c = arith.constant dense<1.000000e+00> : tensor<4xf32>
    %e = tensor.empty() : tensor<4xf32>
    %r = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel"]}
        ins(%x, %c : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>) {
    ^bb0(%a: f32, %b: f32, %o: f32):
      %s = arith.addf %a, %b : f32 loc("model.py":3:4)
      linalg.yield %s : f32
    } -> tensor<4xf32>
    %z = scf.for %i = %n to %n step %n iter_args(%t = %r) -> (tensor<4xf32>) {
      scf.yield %t : tensor<4xf32>
    }
    return %z : tensor<4xf32>
  }
}
"""
LLVM = """source_filename = "x.c"
target datalayout = "e-m:e-i64:64-n8:16:32:64-S128"
%pair = type { i32, [4 x float] }
@table = internal constant [3 x i32] [i32 1, i32 2, i32 3]

define i32 @f(i32 %x, ptr %p) #0 {
entry:
  %c = icmp sgt i32 %x, 0
  br i1 %c, label %then, label %done
then:
  %q = getelementptr %pair, ptr %p, i64 1, i32 1, i64 2
  %v = load float, ptr %q, align 4
  %w = fptosi float %v to i32
  br label %done
done:
  %r = phi i32 [ %w, %then ], [ 0, %entry ]
  %s = call i32 @llvm.smax.i32(i32 %r, i32 %x)
  ret i32 %s
}

declare i32 @llvm.smax.i32(i32, i32)
attributes #0 = { nounwind "frame-pointer"="all" }
!0 = !{i32 1, !"wchar_size", i32 4}
"""
TTIR = """module {
  tt.func public @k(%x: !tt.ptr<f32> {tt.divisibility = 16 : i32}, %n: i32) attributes {noinline = false} {
    %c64 = arith.constant 64 : i32
    %i = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32>
    %p = tt.splat %x : !tt.ptr<f32> -> tensor<64x!tt.ptr<f32>>
    %q = tt.addptr %p, %i : tensor<64x!tt.ptr<f32>>, tensor<64xi32>
    %b = tt.splat %n : i32 -> tensor<64xi32>
    %m = arith.cmpi slt, %i, %b : tensor<64xi32>
    %v = tt.load %q, %m : tensor<64x!tt.ptr<f32>>
    %s = scf.for %k = %c64 to %n step %c64 iter_args(%a = %v) -> (tensor<64xf32>) : i32 {
      %t = arith.addf %a, %v : tensor<64xf32>
      scf.yield %t : tensor<64xf32>
    }
    tt.store %q, %s, %m : tensor<64x!tt.ptr<f32>>
    tt.return
  }
}
"""
OPT = "mlir-opt --canonicalize --cse"
O2 = "opt -O2"
NVPTX = "opt -O1 | llc -mtriple=nvptx64-nvidia-cuda"
X86 = "opt -O1 | llc -mtriple=x86_64-unknown-linux-gnu"


def mlir(name: str, why: str, text: object, match: str = "", *, pipeline: str = OPT, **given: object) -> None:
    CORPUS.lower(f"mlir {name}", why, text, to="raw_ir", pipeline=pipeline, match=match, **given)  # type: ignore[arg-type]


def llvm(name: str, why: str, text: object, match: str = "", *, pipeline: str = O2, **given: object) -> None:
    CORPUS.lower(f"llvm {name}", why, text, to="raw_ir", pipeline=pipeline, match=match, **given)  # type: ignore[arg-type]


def ttir(name: str, why: str, text: object, match: str = "", *, to: str = "triton_llvm_ir", **given: object) -> None:
    CORPUS.lower(f"ttir {name}", why, text, to=to, match=match, **given)  # type: ignore[arg-type]


def mutated(text: str, seed: int) -> str:
    """The text with a few places cut, doubled, swapped or replaced by what breaks parsers."""
    chance = random.Random(seed)
    for _ in range(1 + seed % 3):
        at, to = sorted(chance.choices(range(len(text)), k=2))
        to = min(to, at + 40)
        piece = chance.choice(
            [
                "",
                text[at:to] * 2,
                text[at:to][::-1],
                "(",
                "<",
                "%",
                '"',
                "-1",
                "99999999999999999999",
                "\x00",
                "{",
                "}",
                "f33",
                "!tt.ptr<",
                "@",
                "#",
                "i0",
            ]
        )
        text = text[:at] + piece + text[to:]
    return text


def body(*lines: str) -> str:
    return (
        "func.func @f(%x: f32, %i: i32) -> f32 {\n"
        + "\n".join(f"  {line}" for line in lines)
        + "\n  return %x : f32\n}"
    )


SHAPES = (
    ("truncated", "a parser at the end of its input", lambda text, part: text[: len(text) * part // 12]),
    ("mutated", "a parser that goes on after an error", mutated),
)
for kind, why, make in SHAPES:
    for number in range(1, 12):
        left: Any = {"exhaustive": number % 3 != 0}
        mlir(f"{kind} {number}", why, make(MLIR, number), **left)
        llvm(f"{kind} {number}", why, make(LLVM, number), **left)
        ttir(f"{kind} {number}", why, make(TTIR, number), to="triton_gpu_ir", **left)

# --- MLIR: characters

mlir("nothing", "no operation at all", "")
mlir("blanks", "nothing but white space", " \n\t\r\n \n")
mlir("NUL", "C strings end at a NUL", "func.func @f() {\n  return\x00\n}")
mlir("NUL in a name", "names cross as C strings", 'func.func @"a\x00b"() {\n  return\n}')
mlir("only NULs", "a file of zeros after a crash", "\x00" * 4096)
mlir("byte order mark", "an editor of another system", "\ufefffunc.func @f() {\n  return\n}", fits=True)
mlir(
    "surrogate",
    "what Python makes of bytes that are not UTF-8",
    'func.func @f() attributes {a = "\udcff"} {\n  return\n}',
)
mlir("surrogate outside of a string", "the lexer meets it", "func.func @f() { \udcff return }")
mlir("letters of the world", "names that are not ASCII", 'func.func @"größe_数_𝄞"() {\n  return\n}')
mlir("bare letters of the world", "names that are not ASCII, not quoted", "func.func @größe() {\n  return\n}")
mlir("ANSI", "escapes that a terminal obeys", 'func.func @f() attributes {a = "\x1b[31m\x1b[2J"} {\n  return\n}')
mlir("right to left", "text that reads otherwise than it is", 'func.func @"\u202ef\u2066"() {\n  return\n}')
mlir("CRLF", "lines of another system", MLIR.replace("\n", "\r\n"))
mlir("carriage returns", "no newline at all", MLIR.replace("\n", "\r"))
mlir("format string", "printf would obey it", 'func.func @"%s%n%p"() {\n  return\n}')
mlir("shell", "a name that a shell would run", 'func.func @"$(touch /tmp/x); `id`"() {\n  return\n}')
mlir("markup", "a name that a page would run", 'func.func @"</script><img src=x onerror=alert(1)>"() {\n  return\n}')
mlir(
    "line of 10 MB",
    "a comment that is one line",
    Made(lambda: f"// {'x' * 10_000_000}\nfunc.func @f() {{\n  return\n}}"),
    fits=True,
)
mlir(
    "line of 10 MB for opt",
    "what language it is in stands behind the comment",
    Made(lambda: f"// {'x' * 10_000_000}\nfunc.func @f() {{\n  return\n}}"),
    "opt reads LLVM IR, but it was given mlir",
    pipeline=O2,
)
mlir(
    "string of 10 MB",
    "an attribute that is one line",
    Made(lambda: f'func.func @f() attributes {{a = "{"y" * 10_000_000}"}} {{\n  return\n}}'),
    pipeline="mlir-opt --cse",
)
mlir("nonsense of 10 MB", "an error message that quotes its line", Made(lambda: "!" * 10_000_000))
mlir("name of 1 MB", "symbols are looked up by name", Made(lambda: f"func.func @{'n' * 1_000_000}() {{\n  return\n}}"))
for name, text in {
    "Python": "def f(x):\n    return x\n",
    "JSON": '{"a": [1, 2, {"b": null}]}',
    "HTML": "<!doctype html><p>module {}",
    "bytecode": "ML\udcefR\x01\x02\x03",
    "ELF": "\x7fELF\x02\x01\x01" + "\x00" * 64,
    "PTX": ".version 8.0\n.target sm_80\n.address_size 64\n",
    "SPIR-V": "\x03\x02\x23\x07" * 16,
    "a traceback": 'Traceback (most recent call last):\n  File "x", line 1\nKeyError: 1',
}.items():
    mlir(f"that is {name}", "another language", text)

# --- MLIR: depth, size, numbers

for depth in (500, 20_000):
    mlir(
        f"{depth} modules",
        "parser and passes recurse into regions",
        Made(lambda depth=depth: "module {" * depth + "}" * depth),
    )
    mlir(
        f"{depth} tuples",
        "types are parsed and printed recursively",
        Made(lambda depth=depth: f"func.func private @f({'tuple<' * depth}i32{'>' * depth})"),
        timeout=2.0,
    )
    mlir(
        f"{depth} lists",
        "attributes are parsed recursively",
        Made(lambda depth=depth: f"module attributes {{a.b = {'[' * depth}{']' * depth}}} {{}}"),
    )
    mlir(f"{depth} brackets", "nothing but opening brackets", "(" * depth)
    mlir(
        f"{depth} callers",
        "locations are walked recursively",
        Made(lambda depth=depth: "module {} loc(" + 'callsite("a":1:1 at ' * depth + '"b":2:2' + ")" * depth + ")"),
    )
    mlir(
        f"{depth} sums",
        "affine expressions recurse",
        Made(
            lambda depth=depth: (
                f"#m = affine_map<(d0) -> ({'(' * depth}d0{' + 1)' * depth})>\nmodule attributes {{a.m = #m}} {{}}"
            )
        ),
    )
mlir(
    "300 loops",
    "passes nest as deep as the IR",
    Made(
        lambda: (
            "func.func @f(%n: index) {\n"
            + "".join(f"scf.for %i{i} = %n to %n step %n {{\n" for i in range(300))
            + "}\n" * 300
            + "return\n}"
        )
    ),
)
mlir(
    "10,000 operations",
    "passes must not be quadratic",
    Made(lambda: body(*(f"%a{i} = arith.addf %{f'a{i - 1}' if i else 'x'}, %x : f32" for i in range(10_000)))),
    fits=True,
)
mlir(
    "10,000 arguments",
    "signatures are printed on one line",
    Made(lambda: f"func.func @f({', '.join(f'%a{i}: i{i % 64 + 1}' for i in range(10_000))}) {{\n  return\n}}"),
)
mlir(
    "10,000 functions",
    "a symbol table of many",
    Made(lambda: "\n".join(f"func.func @f{i}() {{\n  return\n}}" for i in range(10_000))),
)
mlir(
    "10,000 blocks",
    "dominance of a long chain",
    Made(
        lambda: (
            "func.func @f() {\n  cf.br ^b0\n"
            + "".join(f"^b{i}:\n  cf.br ^b{i + 1}\n" for i in range(10_000))
            + "^b10000:\n  return\n}"
        )
    ),
)
mlir("rank 10,000", "shapes are small vectors", Made(lambda: f"func.func private @f(tensor<{'1x' * 10_000}f32>)"))
for name, type_ in {
    "2^40 elements": "tensor<1099511627776xf32>",
    "no elements": "tensor<0xf32>",
    "an overflowing size": "tensor<4294967296x4294967296xf32>",
    "a size beyond 64 bits": "tensor<99999999999999999999xf32>",
    "a negative size": "tensor<-1xf32>",
    "a width of 0": "i0",
    "a width of 2^24": "i16777216",
    "a width beyond 32 bits": "i99999999999",
    "a huge vector": "vector<1099511627776xf32>",
    "an odd float": "f33",
    "a strange layout": "memref<4xf32, strided<[9223372036854775807], offset: ?>>",
    "a memory space beyond 64 bits": "memref<4xf32, 99999999999999999999>",
    "a function of itself": "!a",
    "nothing between brackets": "tensor<>",
}.items():
    mlir(f"type with {name}", "sizes are multiplied, printed and allocated", f"func.func private @f({type_})")
for name, value in {
    "2^40 equal elements": "dense<1.0> : tensor<1099511627776xf32>",
    "no elements": "dense<> : tensor<0xf32>",
    "too few elements": "dense<[1.0, 2.0]> : tensor<3xf32>",
    "ragged elements": "dense<[[1], [2, 3]]> : tensor<2x2xi32>",
    "broken hexadecimals": 'dense<"0xZZ"> : tensor<4xf32>',
    "hexadecimals cut short": 'dense<"0x0000"> : tensor<4xf32>',
    "100,000 digits": f"{'9' * 100_000} : i64",
    "a float of 100,000 digits": f"0.{'9' * 100_000} : f64",
    "too wide a number": "256 : i8",
    "a missing resource": "dense_resource<missing> : tensor<4xf32>",
    "a sparse index out of range": "sparse<[[9]], [1.0]> : tensor<4xf32>",
    "a NaN by its bits": "0x7FC00000 : f32",
    "a float with a type of integers": "1.5 : i32",
    "an index of -1": "-1 : index",
}.items():
    mlir(
        f"constant of {name}",
        "constants are read into memory and folded",
        Made(lambda value=value: body(f"%c = arith.constant {value}")),
        timeout=2.0,
    )
mlir(
    "shift by more than the width",
    "folding of what is undefined",
    body("%a = arith.constant 1 : i32", "%b = arith.constant 99 : i32", "%c = arith.shli %a, %b : i32"),
)
mlir(
    "division by zero",
    "folding traps",
    body(
        "%a = arith.constant 1 : i32",
        "%b = arith.constant 0 : i32",
        "%c = arith.divsi %a, %b : i32",
        "%d = arith.remui %a, %b : i32",
    ),
)
mlir(
    "least by minus one",
    "folding traps on overflow",
    body(
        "%a = arith.constant -2147483648 : i32",
        "%b = arith.constant -1 : i32",
        "%c = arith.divsi %a, %b : i32",
        "%d = arith.remsi %a, %b : i32",
    ),
)

# --- MLIR: structure

for name, text in {
    "an alias of itself": "!a = tuple<!a>\nfunc.func private @f(!a)",
    "an attribute of itself": "#a = [#a]\nmodule attributes {x.y = #a} {}",
    "a name defined twice": body("%a = arith.negf %x : f32", "%a = arith.negf %x : f32"),
    "two functions of one name": "func.func private @f()\nfunc.func private @f()",
    "a use before its definition": body("%b = arith.negf %a : f32", "%a = arith.negf %x : f32"),
    "no terminator": "func.func @f() {\n}",
    "a value of another function": (
        "func.func @f(%x: f32) {\n  return\n}\nfunc.func @g() {\n  %y = arith.negf %x : f32\n  return\n}"
    ),
    "a block that is not there": "func.func @f() {\n  cf.br ^nowhere\n}",
    "a call of what is not there": "func.func @f() {\n  call @g() : () -> ()\n  return\n}",
    "an unknown dialect": 'func.func @f() {\n  "no.such"() : () -> ()\n  return\n}',
    "an unknown operation": body("%a = arith.nosuch %x : f32"),
    "a string that never ends": 'module attributes {a = "never',
    "a comment that never ends": "// never",
    "braces that never close": "module {" * 3,
    "too many closing braces": "module {}}}}}",
    "wrong types": body("%a = arith.addf %x, %i : f32"),
    "a recursive call": "func.func @f() {\n  call @f() : () -> ()\n  return\n}",
    "a condition that never ends": "func.func @f() {\n  cf.br ^a\n^a:\n  cf.br ^a\n}",
    "locations that name nothing": "module {} loc(#loc99)",
    "a resource blob": 'module {}\n{-#\n  dialect_resources: {\n    builtin: {\n      a: "0x04000000"\n    }\n  }\n#-}',
    "an odd resource blob": (
        'module {}\n{-#\n  dialect_resources: {\n    builtin: {\n      a: "0x0300000001"\n    }\n  }\n#-}'
    ),
    "gpu code in gpu code": "gpu.module @a {\n  gpu.module @b {\n  }\n}",
    "a module in a function": "func.func @f() {\n  module {\n  }\n  return\n}",
}.items():
    mlir(name, "the verifier must say it", text)
for name, tools in {
    "nested pass managers": "mlir-opt --pass-pipeline='builtin.module(func.func(func.func(cse)))'",
    "an unfinished pipeline": "mlir-opt --pass-pipeline='builtin.module(cse'",
    "a pass with broken options": "mlir-opt --canonicalize='max-iterations=99999999999999999999'",
    "a pass that is no pass": "mlir-opt --no-such-pass",
    "the same pass 500 times": "mlir-opt " + "--cse " * 500,
    "an empty tool": " | ",
    "no pass": "mlir-opt",
    "a tool that is none": "rm -rf x",
    "a stray quote": "mlir-opt --cse '",
    "LLVM's passes on MLIR": "opt -O2",
    "code generation of MLIR": "llc -mtriple=nvptx64-nvidia-cuda",
    "translation of what is not lowered": "mlir-translate --mlir-to-llvmir",
    "unrolling by a billion": "mlir-opt --affine-loop-unroll='unroll-factor=1000000000'",
    "a tool that kills itself": "user-tool sh -c 'kill -SEGV $$'",
    "a tool that says nothing": "user-tool true",
    "a tool that prints no text": "user-tool head -c 4096 /dev/urandom",
    "a tool that is not there": "user-tool /no/such/tool",
    "a tool that does not read": "user-tool echo module",
    "a tool with 100 kB of arguments": f"user-tool true {'x' * 100_000}",
}.items():
    mlir(f"pipeline: {name}", "pipelines are text of the user's", MLIR, pipeline=tools)
mlir(
    "pipeline: a tool that is no program",
    "any file has a path",
    MLIR,
    "starts neither with #! nor as an executable",
    pipeline="user-tool /etc/passwd",
    never=("chmod",),
)
mlir(
    "pipeline: a tool that says 20 MB of NULs",
    "a message quotes what a tool said",
    MLIR,
    r"\Ash exited with 3 and said nothing",
    pipeline="user-tool sh -c 'head -c 20000000 /dev/zero >&2; exit 3'",
    never=("\0",),
)
mlir(
    "pipeline: 10,000 bars",
    "a message quotes the pipeline",
    MLIR,
    r"\ANothing between the \|{60}\.\.\. of the pipeline",
    pipeline="|" * 10_000,
)
mlir(
    "pipeline: a tool that waits in this process",
    "no worker is there to be ended",
    MLIR,
    r"timed out \(after 1 s",
    pipeline="user-tool sleep 600",
    timeout=1.0,
    isolate=False,
)
mlir(
    "pipeline: a tool that waits for ever",
    "only the limit ends it",
    MLIR,
    "timed out",
    pipeline="user-tool sleep 600",
    timeout=1.0,
    never=("crashed",),
)
mlir(
    "pipeline: a tool that prints for ever",
    "its output must not fill the memory",
    MLIR,
    pipeline="user-tool yes",
    timeout=1.5,
    never=("crashed",),
)

# --- LLVM IR

for name, text in {
    "nothing": "define void @f() {\n}",
    "a struct of 5,000 structs": "%s = type " + "{ " * 5000 + "i32" + " }" * 5000 + "\ndeclare void @f(%s)",
    "an array of 2^62 bytes": (
        "define void @f() {\n  %a = alloca [4611686018427387904 x i8]\n"
        "  call void @g(ptr %a)\n  ret void\n}\ndeclare void @g(ptr)"
    ),
    "an integer of 2^23 bits": "define i8388608 @f(i8388608 %x) {\n  ret i8388608 %x\n}",
    "an integer of too many bits": "define i99999999 @f(i99999999 %x) {\n  ret i99999999 %x\n}",
    "metadata of itself": "define void @f() !dbg !0 {\n  ret void\n}\n!0 = !{!0}",
    "distinct metadata of itself": "!named = !{!0}\n!0 = distinct !{!0, !1}\n!1 = !{!0}",
    "an alias of itself": "@a = alias i32, ptr @a",
    "two aliases in a circle": "@a = alias i32, ptr @b\n@b = alias i32, ptr @a",
    "an odd data layout": 'target datalayout = "e-p:999:999-zzz"\ndefine void @f() {\n  ret void\n}',
    "no such target": 'target triple = "pdp11-dec-none"\ndefine void @f() {\n  ret void\n}',
    "assembly of a module": 'module asm "this is nonsense"\ndefine void @f() {\n  ret void\n}',
    "an intrinsic that is none": (
        "declare void @llvm.no.such()\ndefine void @f() {\n  call void @llvm.no.such()\n  ret void\n}"
    ),
    "an intrinsic of a wrong type": "declare i32 @llvm.smax.i32(float)\ndefine void @f() {\n  ret void\n}",
    "a phi without predecessors": "define i32 @f() {\n  %a = phi i32 [ 0, %b ]\n  ret i32 %a\nb:\n  ret i32 0\n}",
    "an entry that is jumped to": "define void @f() {\ne:\n  br label %e\n}",
    "a use before its definition": "define i32 @f() {\n  %b = add i32 %a, 1\n  %a = add i32 1, 1\n  ret i32 %b\n}",
    "numbers out of order": "define i32 @f() {\n  %7 = add i32 1, 1\n  ret i32 %7\n}",
    "a division by zero": "define i32 @f() {\n  %a = sdiv i32 1, 0\n  ret i32 %a\n}",
    "a load of null": "define i32 @f() {\n  %a = load i32, ptr null\n  ret i32 %a\n}",
    "a shift by too much": "define i32 @f() {\n  %a = shl i32 1, 99\n  ret i32 %a\n}",
    "a loop without end": "define void @f() {\n  br label %a\na:\n  br label %a\n}",
    "recursion without end": "define i32 @f(i32 %x) {\n  %y = call i32 @f(i32 %x)\n  ret i32 %y\n}",
    "code after a return": "define void @f() {\n  ret void\n  ret void\n}",
    "an unreachable start": "define void @f() {\n  unreachable\n}",
    "a global of 2^40 zeros": "@a = global [1099511627776 x i8] zeroinitializer\ndefine ptr @f() {\n  ret ptr @a\n}",
    "an undefined type": "define %nowhere @f() {\n  ret %nowhere undef\n}",
    "an opaque type by value": "%o = type opaque\ndefine void @f(%o %x) {\n  ret void\n}",
    "two functions of one name": "define void @f() {\n  ret void\n}\ndefine void @f() {\n  ret void\n}",
    "attributes that are none": "define void @f() nosuch {\n  ret void\n}",
    "alignment of 2^40": "define void @f() {\n  %a = alloca i8, align 1099511627776\n  ret void\n}",
    "a comment alone": "; define void @f()",
    "NUL in the middle": "define void @f() {\n\x00  ret void\n}",
    "a name with NUL": '@"a\\00b" = global i32 0',
    "surrogates": 'define void @"\udcff"() {\n  ret void\n}',
}.items():
    llvm(name, "the parser or the first pass meets it", Made(lambda text=text: text))
for name, text in {
    "a byte order mark": "\ufeffdefine void @f() {\n  ret void\n}",
    "a comment of 10 MB": f"; {'x' * 10_000_000}\ndefine void @f() {{\n  ret void\n}}",
    "a type first": "%s = type { i32 }\n@a = global %s zeroinitializer",
    "named metadata first": "!named = !{!0}\n!0 = !{}",
}.items():
    llvm(name, "what language it is in stands behind it", Made(lambda text=text: text), fits=True)
for name, text in {"a name with NUL": '@"a\\00b" = global i32 0', "a type first": "%s = type { i32 }"}.items():
    llvm(f"{name}, for mlir-opt", "nobody knows its language", text, "was given llvm", pipeline=OPT)
llvm(
    "10,000 cases",
    "switches become trees",
    Made(
        lambda: (
            "define void @f(i32 %x) {\n  switch i32 %x, label %d [\n"
            + "\n".join(f"    i32 {i * 7}, label %b{i}" for i in range(10_000))
            + "\n  ]\n"
            + "".join(f"b{i}:\n  br label %d\n" for i in range(10_000))
            + "d:\n  ret void\n}"
        )
    ),
)
llvm(
    "20,000 instructions",
    "passes must not be quadratic",
    Made(
        lambda: (
            "define i32 @f(i32 %x) {\n"
            + "".join(f"  %a{i} = xor i32 %{f'a{i - 1}' if i else 'x'}, {i * 7919}\n" for i in range(20_000))
            + "  ret i32 %a19999\n}"
        )
    ),
    fits=True,
)
llvm(
    "5,000 nested expressions",
    "constants are folded recursively",
    Made(lambda: "@g = global ptr " + "getelementptr (i8, ptr " * 5000 + "null" + ", i64 1)" * 5000),
)
llvm("a string of 10 MB", "a line that long", Made(lambda: f'@s = constant [10000000 x i8] c"{"z" * 10_000_000}"'))
for name, text, pipeline in (
    (
        "assembly that is none on x86",
        'define void @f() {\n  call void asm sideeffect "nonsense here", ""()\n  ret void\n}',
        X86,
    ),
    (
        "constraints that are none on x86",
        'define i32 @f() {\n  %a = call i32 asm "mov", "=zzz"()\n  ret i32 %a\n}',
        X86,
    ),
    (
        "constraints that are none on NVPTX",
        'define i32 @f() {\n  %a = call i32 asm "mov", "=zzz"()\n  ret i32 %a\n}',
        NVPTX,
    ),
    (
        "an exception on NVPTX",
        "declare i32 @p(...)\ndeclare void @g()\ndefine void @f() personality ptr @p {\n"
        "  invoke void @g() to label %a unwind label %b\na:\n  ret void\n"
        "b:\n  %l = landingpad { ptr, i32 } cleanup\n  ret void\n}",
        NVPTX,
    ),
    (
        "a division of 4,096 bits",
        "define i4096 @f(i4096 %x, i4096 %y) {\n  %a = sdiv i4096 %x, %y\n  ret i4096 %a\n}",
        X86,
    ),
    ("a float of 128 bits on NVPTX", "define fp128 @f(fp128 %x) {\n  %a = fdiv fp128 %x, %x\n  ret fp128 %a\n}", NVPTX),
    (
        "a vector of 3,001 on NVPTX",
        "define <3001 x i17> @f(<3001 x i17> %x) {\n  %a = mul <3001 x i17> %x, %x\n  ret <3001 x i17> %a\n}",
        NVPTX,
    ),
    (
        "a register of another machine",
        "define i64 @f() {\n  %a = call i64 @llvm.read_register.i64(metadata !0)\n"
        "  ret i64 %a\n}\ndeclare i64 @llvm.read_register.i64(metadata)\n"
        '!0 = !{!"nosuch"}',
        X86,
    ),
    (
        "an address space of another machine",
        "define i32 @f(ptr addrspace(77) %p) {\n  %a = load i32, ptr addrspace(77) %p\n  ret i32 %a\n}",
        NVPTX,
    ),
    (
        "a tail call that cannot be",
        "declare i32 @g(i32, i32, i32, i32, i32, i32, i32, i32, i32)\n"
        "define i32 @f() {\n"
        "  %a = musttail call i32 @g(i32 1, i32 1, i32 1, i32 1, i32 1, i32 1, i32 1, i32 1, i32 1)\n"
        "  ret i32 %a\n}",
        X86,
    ),
    ("no triple", "define void @f() {\n  ret void\n}", "llc"),
    ("a triple that is none", "define void @f() {\n  ret void\n}", "llc -mtriple=nosuch"),
    ("a processor that is none", "define void @f() {\n  ret void\n}", "llc -mtriple=nvptx64-nvidia-cuda -mcpu=sm_9999"),
    ("a level that is none", "define void @f() {\n  ret void\n}", "opt -O9"),
    ("a pass that is none", "define void @f() {\n  ret void\n}", "opt -passes=nosuch"),
    ("passes that never close", "define void @f() {\n  ret void\n}", "opt '-passes=function(instcombine'"),
):
    llvm(f"code: {name}", "code generation ends the process for less", text, pipeline=pipeline)

# --- TTIR and TTGIR

for name, (old, new) in {
    "three elements": ("tensor<64", "tensor<3"),
    "2^40 elements": ("64", "1099511627776"),
    "no elements": ("tensor<64", "tensor<0"),
    "2^20 elements": ("64", "1048576"),
    "pointers of pointers": ("!tt.ptr<f32>", "!tt.ptr<!tt.ptr<f32>>"),
    "an odd element": ("f32", "f33"),
    "integers of one bit": ("f32", "i1"),
    "no return": ("    tt.return\n", ""),
    "divisible by zero": ("tt.divisibility = 16", "tt.divisibility = 0"),
    "divisible by -1": ("tt.divisibility = 16", "tt.divisibility = -1"),
    "a private kernel": ("public @k", "private @k"),
    "a range backwards": ("end = 64 : i32, start = 0", "end = 0 : i32, start = 64"),
    "a step of zero": ("constant 64", "constant 0"),
    "a name with blanks": ("@k(", '@"k k"('),
    "a name of the world": ("@k(", '@"größe"('),
    "a name with NUL": ("@k(", '@"a\\00b"('),
    "surrogates": ("noinline = false", 'a = "\udcff"'),
    "an unknown dialect": ("tt.store", "no.such"),
}.items():
    ttir(name, "a kernel written by hand", TTIR.replace(old, new), timeout=3.0)
LAYOUT = "#b = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>\n"
TTGIR = (
    LAYOUT
    + """module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90",
                   "ttg.threads-per-warp" = 32 : i32} {
  tt.func public @k(%x: !tt.ptr<f32>) {
    %i = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32, #b>
    %p = tt.splat %x : !tt.ptr<f32> -> tensor<64x!tt.ptr<f32>, #b>
    %q = tt.addptr %p, %i : tensor<64x!tt.ptr<f32>, #b>, tensor<64xi32, #b>
    %v = tt.load %q : tensor<64x!tt.ptr<f32>, #b>
    tt.store %q, %v : tensor<64x!tt.ptr<f32>, #b>
    tt.return
  }
}
"""
)
for name, (old, new) in {
    "as it is": ("", ""),
    "no warps": ('num-warps" = 4', 'num-warps" = 0'),
    "three warps": ('num-warps" = 4', 'num-warps" = 3'),
    "-1 warps": ('num-warps" = 4', 'num-warps" = -1'),
    "warps beyond 32 bits": ('num-warps" = 4', 'num-warps" = 99999999999'),
    "warps of no thread": ('threads-per-warp" = 32', 'threads-per-warp" = 0'),
    "no layout": (LAYOUT, ""),
    "threads of no element": ("sizePerThread = [1]", "sizePerThread = [0]"),
    "too many threads": ("threadsPerWarp = [32]", "threadsPerWarp = [64]"),
    "an order that is none": ("order = [0]", "order = [7]"),
    "an order twice": ("order = [0]", "order = [0, 0]"),
    "no such target": ("cuda:90", "cuda:9999"),
    "a target of another maker": ("cuda:90", "hip:gfx942"),
    "a target that is text": ("cuda:90", "x"),
    "a thousand blocks": ('num-ctas" = 1', 'num-ctas" = 1000'),
    "no blocks": ('num-ctas" = 1', 'num-ctas" = 0'),
}.items():
    ttir(
        f"gpu {name}",
        "layouts are arithmetic on what the text says",
        TTGIR.replace(old, new),
        timeout=5.0,
        fits=name == "as it is",
    )
ttir(
    "that calls itself",
    "inlining without end",
    TTIR.replace("    tt.return\n", "    tt.call @k(%x, %n) : (!tt.ptr<f32>, i32) -> ()\n    tt.return\n"),
    timeout=5.0,
)
ttir(
    "for another maker's assembly", "the wrong target for a GPU", TTIR, to="triton_amdgpu", arch="sm_90", match="NVIDIA"
)
ttir("that is LLVM IR", "another language", LLVM, "neither TTIR nor TTGIR")
ttir("that is nothing", "another language", "", "neither TTIR nor TTGIR")
ttir(
    "line of 10 MB",
    "a comment that is one line",
    Made(lambda: TTIR.replace("module {", f"module {{ // {'x' * 10_000_000}")),
    to="triton_gpu_ir",
)
ttir(
    "20,000 modules",
    "parser and passes recurse",
    Made(lambda: TTIR.replace("module {", "module {" * 20_000).rstrip() + "}" * 19_999),
    to="triton_ir",
)
