"""Triton and Helion kernels that are odd: each is wrong in its own way, or right in a way that few use."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from tests.crashers.cases import Corpus, Made

CORPUS = Corpus()
NUMBER = 3
TENSOR = torch.arange(4)
LIST = [1, 2, 3]


def x(size: int = 64, dtype: torch.dtype = torch.float32) -> Made:
    return Made(lambda: torch.ones(size, dtype=dtype))


def kernel(
    name: str,
    why: str,
    function: object,
    *inputs: object,
    match: str = "",
    to: str = "triton_nvptx",
    fits: bool = False,
    timeout: float = 10.0,
    **given: object,
) -> None:
    CORPUS.lower(
        f"triton {name}", why, function, *(inputs or (x(),)), to=to, match=match, fits=fits, timeout=timeout, **given
    )  # type: ignore[arg-type]


# --- inline assembly


@triton.jit
def asm_pack(p, PACK: tl.constexpr):
    v = tl.load(p + tl.arange(0, 64))
    y = tl.inline_asm_elementwise("mov.b32 $0, $1;", "=r,r", [v], dtype=tl.float32, is_pure=True, pack=PACK)
    tl.store(p + tl.arange(0, 64), y)


kernel("pack of 0", "a division by zero in the front end", asm_pack, x(), 0, match="SIGFPE(.|\n)*launched at")
kernel("pack of -1", "a negative count", asm_pack, x(), -1, match="packed_element")
kernel("pack of 3", "a count that does not divide", asm_pack, x(), 3, match="multiple")
kernel("pack of 2^31", "a count that overflows", asm_pack, x(), 2**31)
kernel("pack of 2^70", "a count beyond 64 bits", asm_pack, x(), 2**70, match="asm_pack")
kernel("pack of text", "a count that is none", asm_pack, x(), "two", match="asm_pack")


@triton.jit
def asm_text(p, TEXT: tl.constexpr, CONSTRAINTS: tl.constexpr):
    v = tl.load(p + tl.arange(0, 64))
    y = tl.inline_asm_elementwise(TEXT, CONSTRAINTS, [v], dtype=tl.float32, is_pure=False, pack=1)
    tl.store(p + tl.arange(0, 64), y)


for name, text, constraints, said in (
    ("nonsense", "this is no instruction;", "=r,r", "ptxas"),
    ("of another machine", "v_mov_b32 $0, $1", "=v,v", ""),
    ("empty", "", "=r,r", ""),
    ("without constraints", "mov.b32 $0, $1;", "", ""),
    ("with too many constraints", "mov.b32 $0, $1;", "=r,r,r,r,zzz", ""),
    ("with a stray operand", "mov.b32 $0, $9;", "=r,r", ""),
    ("with a brace that never closes", "{ mov.b32 $0, $1;", "=r,r", ""),
    ("that ends the function", "ret; }", "=r,r", ""),
    ("with NUL", "mov.b32 $0, $1; \x00", "=r,r", ""),
    ("of 300 kB", "// " + "x" * 300_000, "=r,r", ""),
    ("of surrogates", "// \udcff", "=r,r", "asm_text"),
    ("that traps", "trap;", "=r,r", ""),
):
    kernel(
        f"assembly {name}", "what is in it is between the user and ptxas", asm_text, x(), text, constraints, match=said
    )

# --- shapes and types


@triton.jit
def ranges(p, FROM: tl.constexpr, TO: tl.constexpr):
    tl.store(p + tl.arange(FROM, TO), 1.0)


for start, end in (
    (0, 0),
    (0, 3),
    (0, -4),
    (64, 0),
    (0, 2**40),
    (0, 2**20),
    (0, 2**70),
    (2**31, 2**32),
    (-64, 0),
    (0, 1),
):
    kernel(
        f"range from {start} to {end}",
        "sizes of tensors are powers of two, and small",
        ranges,
        x(),
        start,
        end,
        to="triton_gpu_ir",
    )
kernel("range of floats", "a size that is none", ranges, x(), 0, 64.0, to="triton_gpu_ir")
kernel("range of text", "a size that is none", ranges, x(), 0, "64", match="ranges", to="triton_gpu_ir")
kernel("range of nothing", "a size that is none", ranges, x(), 0, None, match="ranges", to="triton_gpu_ir")


@triton.jit
def filled(p, SHAPE: tl.constexpr, VALUE: tl.constexpr, TYPE: tl.constexpr):
    tl.store(p, tl.sum(tl.full(SHAPE, VALUE, TYPE).ravel(), axis=0))


for name, shape, value, dtype in (
    ("no dimension", (), 1.0, tl.float32),
    ("dimension of 0", (0,), 1.0, tl.float32),
    ("negative dimension", (-4,), 1.0, tl.float32),
    ("40 dimensions", (1,) * 40, 1.0, tl.float32),
    ("2^30 elements", (2**30,), 1.0, tl.float32),
    ("number too large for its type", (4,), 2**100, tl.int32),
    ("float for an integer", (4,), 0.5, tl.int32),
    ("NaN for an integer", (4,), float("nan"), tl.int32),
    ("infinity", (4,), float("inf"), tl.float16),
    ("type that is none", (4,), 1.0, "float33"),
    ("type of pointers", (4,), 0, tl.pointer_type(tl.float32)),
    ("type of one bit", (4,), 1, tl.int1),
    ("text as value", (4,), "x", tl.float32),
    ("nothing as value", (4,), None, tl.float32),
    ("shape of text", "abc", 1.0, tl.float32),
    ("complex number", (4,), 1j, tl.float32),
):
    kernel(
        f"fill: {name}",
        "constants are made of what Python has",
        filled,
        x(),
        shape,
        value,
        dtype,
        to="triton_gpu_ir",
        timeout=4.0,
    )


@triton.jit
def multiplied(p, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    a = tl.full((M, K), 1.0, tl.float16)
    b = tl.full((K, N), 1.0, tl.float16)
    tl.store(p + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :], tl.dot(a, b))


for m, n, k in ((1, 1, 1), (16, 16, 2), (3, 16, 16), (16, 16, 0), (512, 512, 16)):
    kernel(
        f"dot of {m} x {n} x {k}",
        "tensor cores take some shapes only",
        multiplied,
        x(),
        m,
        n,
        k,
        to="triton_gpu_ir",
        timeout=6.0,
    )


@triton.jit
def mixed(p, q, n):
    tl.store(p + tl.arange(0, 4), q + tl.arange(0, 8) + n)


@triton.jit
def stored(p, n):
    tl.store(p, n)


kernel("shapes that do not fit", "broadcasting fails", mixed, x(), x(), 3, match="mixed")
kernel("float as pointer", "an argument of another type", mixed, 1.5, x(), 3, match="mixed")
kernel("nothing as pointer", "an argument that is None", mixed, None, x(), 3, match="mixed")
for name, value in (
    ("2^31", 2**31),
    ("2^63", 2**63),
    ("2^64", 2**64),
    ("-2^63", -(2**63)),
    ("2^200", 2**200),
    ("text", "i32"),
    ("a complex number", 1j),
    ("a list", [1]),
    ("bytes", b"x"),
    ("a set", {1}),
    ("an object", object()),
    ("a function", len),
    ("a type", int),
    ("a module", torch),
    ("a tuple", (1, 2)),
    ("nothing", None),
    ("NaN", float("nan")),
    ("a deep tuple", Made(lambda: _deep(5000))),
    ("a tensor of no elements", x(0)),
    ("a complex tensor", x(4, torch.complex64)),
    ("a tensor of bool", x(4, torch.bool)),
    ("a quantised tensor", Made(lambda: torch.quantize_per_tensor(torch.ones(4), 0.1, 0, torch.qint8))),
    ("a sparse tensor", Made(lambda: torch.eye(4).to_sparse())),
    ("a meta tensor", Made(lambda: torch.empty(4, device="meta"))),
    ("a tensor of 2^40 elements", Made(lambda: torch.ones(1).expand(2**40))),
):
    kernel(f"argument: {name}", "specialisation looks at every argument, natively", stored, x(), value, to="triton_ir")


def _deep(depth: int) -> tuple[object, ...]:
    found: tuple[object, ...] = (1,)
    for _ in range(depth):
        found = (found,)
    return found


# --- control flow and names


@triton.jit
def empty(p):
    pass


@triton.jit
def no_arguments():
    pass


@triton.jit
def returns_a_value(p):
    return tl.load(p)


@triton.jit
def calls_itself(p, n):
    calls_itself(p, n - 1)


@triton.jit
def never_ends(p):
    n = 0
    while True:
        n += 1


@triton.jit
def unrolls(p, N: tl.constexpr):
    for i in tl.static_range(N):
        tl.store(p + i, 1.0)


@triton.jit
def branches(p, n):
    if n > 3:  # noqa: SIM108
        y = tl.zeros((4,), tl.float32)
    else:
        y = tl.zeros((8,), tl.float32)
    tl.store(p + tl.arange(0, 4), y)


@triton.jit
def undefined(p):
    tl.store(p, nowhere)  # noqa: F821


@triton.jit
def defined_in_one_branch(p, n):
    if n > 3:
        y = 1.0
    tl.store(p, y)


@triton.jit
def global_number(p):
    tl.store(p, NUMBER)


@triton.jit
def global_tensor(p):
    tl.store(p, TENSOR)


@triton.jit
def global_list(p):
    tl.store(p, LIST[0])


@triton.jit
def lambda_in_it(p):
    f = lambda x: x  # noqa: E731
    tl.store(p, f(1))


@triton.jit
def comprehension(p):
    values = [tl.load(p + i) for i in range(4)]
    tl.store(p, values[0])


@triton.jit
def tries(p):
    try:  # noqa: SIM105
        tl.store(p, 1.0)
    except ValueError:
        pass


@triton.jit
def yields(p):
    yield tl.load(p)


@triton.jit
def stores_text(p):
    tl.store(p, "text")


@triton.jit
def calls_python(p):
    print(open("/etc/passwd"))  # noqa: SIM115


@triton.jit
def asserts(p, N: tl.constexpr):
    tl.static_assert(N > 64, "N is too small \x1b[31m \udcff")
    tl.store(p, 1.0)


@triton.jit
def device_asserts(p):
    tl.device_assert(tl.load(p) > 0, "größer %s %n" * 50)
    tl.device_print("x" * 3000, tl.load(p))


@triton.jit
def größe(zeiger, zahl):
    über = tl.load(zeiger) + zahl
    tl.store(zeiger, über)


@triton.constexpr_function
def forever():
    while True:
        pass


@triton.constexpr_function
def fails(error):
    raise error


@triton.constexpr_function
def deep(n):
    return deep.fn(n + 1)


@triton.constexpr_function
def large(n):
    return 7**n


@triton.constexpr_function
def leaves():
    import os

    os._exit(0)


@triton.constexpr_function
def kills():
    import os
    import signal

    os.kill(os.getpid(), signal.SIGSEGV)


@triton.constexpr_function
def exits():
    raise SystemExit("bye")


@triton.jit
def waits(p):
    tl.store(p, forever())


@triton.jit
def raises(p, ERROR: tl.constexpr):
    tl.store(p, fails(ERROR))


@triton.jit
def recurses_in_python(p):
    tl.store(p, deep(0))


@triton.jit
def large_number(p):
    tl.store(p, large(10_000_000))


@triton.jit
def ends_the_process(p):
    tl.store(p, leaves())


@triton.jit
def segfaults(p):
    tl.store(p, kills())


@triton.jit
def says_goodbye(p):
    tl.store(p, exits())


kernel("without a body", "nothing to compile", empty, fits=True)
CORPUS.lower("triton without an argument", "nothing to specialise", no_arguments, to="triton_ir", fits=True)
kernel("that returns a value", "kernels return nothing", returns_a_value, to="triton_ir")
kernel("that calls itself", "compiled without end", calls_itself, x(), 3, match="calls itself")
kernel("that never ends", "a loop of the GPU's", never_ends, to="triton_ir")
kernel(
    "that unrolls a billion times",
    "a loop of the compiler's",
    unrolls,
    x(),
    10**9,
    match="ront end (of Triton )?timed out",
    never=("crashed", "pass "),
    timeout=1.0,
)
kernel("that unrolls 500 times", "much to compile", unrolls, x(), 500, to="triton_gpu_ir")
kernel("that unrolls -1 times", "a loop that is none", unrolls, x(), -1, to="triton_ir")
kernel("that unrolls by text", "a count that is none", unrolls, x(), "many", match="unrolls", to="triton_ir")
kernel("with branches of two types", "a value has one type", branches, x(), 5, match="Mismatched type")
kernel("with an undefined name", "Python finds it late", undefined, match="nowhere is not defined")
kernel(
    "with a name of one branch",
    "Python finds it late",
    defined_in_one_branch,
    x(),
    5,
    match="y is not defined|undefined",
)
kernel("with a global number", "globals must be constexprs", global_number, match="NUMBER", to="triton_ir")
kernel(
    "with a global tensor",
    "Triton copies globals, and tensors have no values here",
    global_tensor,
    match="TENSOR",
    to="triton_ir",
)
kernel("with a global list", "globals must be constexprs", global_list, match="LIST", to="triton_ir")
kernel("with a lambda", "Python that Triton does not read", lambda_in_it, match="Lambda|lambda")
kernel("with a comprehension", "Python that Triton reads in part", comprehension, to="triton_ir")
kernel("with try", "Python that Triton does not read", tries, match="Try")
kernel("with yield", "Python that Triton does not read", yields, match="yields does not compile")
kernel("that stores text", "values are numbers", stores_text, match="text")
kernel("that calls Python", "functions of the host", calls_python, match="calls_python does not compile")
kernel("whose assertion fails", "a message with escapes and surrogates", asserts, x(), 4, match="too small")
kernel("with assertions of the device", "texts that printf would obey", device_asserts)
kernel("with letters of the world", "symbols that ptxas does not take", größe, x(), 1.5)
kernel(
    "that waits for ever",
    "constexpr functions are Python",
    waits,
    match="ront end (of Triton )?timed out",
    never=("crashed",),
    timeout=1.0,
)
for error in (
    ValueError("\udcff \x1b[31m"),
    MemoryError("mine"),
    RecursionError("mine"),
    KeyError("k"),
    StopIteration(),
    UnicodeDecodeError("utf-8", b"\xff", 0, 1, "x"),
):
    kernel(
        f"that raises {type(error).__name__}",
        "errors of the user's cross from the copy",
        raises,
        x(),
        error,
        match="raises|memory",
        to="triton_ir",
    )
kernel(
    "that recurses in Python", "the stack of a constexpr function", recurses_in_python, match="recurs", to="triton_ir"
)
kernel(
    "with a number of 8 million digits",
    "an integer that no type holds",
    large_number,
    match="large_number|timed out",
    to="triton_ir",
    timeout=1.5,
)
kernel(
    "that ends its process",
    "os._exit in a constexpr function",
    ends_the_process,
    match="front end crashed on ends_the_process",
    to="triton_ir",
)
kernel(
    "that segfaults", "a crash in a constexpr function", segfaults, match="SIGSEGV(.|\n)*launched at", to="triton_ir"
)
kernel("that says goodbye", "SystemExit in a constexpr function", says_goodbye, match="says_goodbye", to="triton_ir")

# --- launch options, arguments and names

for option, value in (
    ("num_warps", 0),
    ("num_warps", -1),
    ("num_warps", 3),
    ("num_warps", 64),
    ("num_warps", 2**40),
    ("num_warps", "four"),
    ("num_warps", 4.5),
    ("num_stages", -5),
    ("num_stages", 10**6),
    ("num_ctas", 0),
    ("num_ctas", 3),
    ("num_ctas", 64),
    ("maxnreg", -1),
    ("maxnreg", 10**9),
    ("enable_fp_fusion", "maybe"),
    ("debug", "yes"),
    ("nosuch", 1),
    ("arch", "sm_9000"),
    ("arch", ""),
    ("arch", "\x00"),
    ("arch", "gfx\udcff"),
    ("grid", "x"),
    ("grid", (0,)),
    ("grid", (2**40,)),
    ("grid", (-1,)),
    ("signature", "*fp99, )"),
    ("config", 7),
    ("supported_fp8_dtypes", 5),
    ("extern_libs", {"a": "/no/such.bc"}),
    ("default_dot_input_precision", "tf99"),
):
    kernel(
        f"launched with {option}={str(value)[:20]!a}",
        "options reach the backend as they are",
        ranges,
        x(),
        0,
        64,
        to="triton_llvm_ir",
        **{option: value},
    )
kernel("with too few arguments", "a signature that does not fit", ranges, match="missing")
kernel("with too many arguments", "a signature that does not fit", ranges, x(), 0, 64, 65, match="ranges")
kernel(
    "for AMD with NVIDIA's assembly",
    "the wrong target",
    asm_text,
    x(),
    "mov.b32 $0, $1;",
    "=r,r",
    to="triton_amdgpu",
    arch="gfx942",
)
kernel("for a target that is none", "a misspelt IR type", ranges, x(), 0, 64, to="triton_nvptxx", match="triton_nvptx")
for name, thing in (
    ("a function", lambda p: p),
    ("nothing", None),
    ("a number", 3),
    ("a model", torch.nn.Linear(2, 2)),
    ("a class", torch.nn.Linear),
):
    kernel(f"that is {name}", "no kernel at all", thing, x(), match="Triton kernel|not from", to="triton_ir")
