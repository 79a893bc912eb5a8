"""What `--check` makes of a cell's own comparisons with its results."""

from __future__ import annotations

import contextlib
import functools
import pickle
import re
from typing import Any

import numpy as np
import pytest
import torch
from IPython.core.interactiveshell import InteractiveShell

from irwidget.frontends import triton as frontend
from irwidget.trace.verdicts import Verdict
from tests.triton.kernels import add

CHECKED = """
import numpy as np
import pytest, torch, triton, triton.language as tl
@triton.jit
def plus_one(x_ptr, y_ptr):
    i = tl.arange(0, 64)
    tl.store(y_ptr + i, tl.load(x_ptr + i) + 1)

x = torch.rand(64, device="cuda")
y = torch.empty_like(x)
plus_one[(1,)](x, y)
"""


MADE = "what the cell makes of its results, by the CPU,"


@functools.cache
def shell() -> InteractiveShell:
    made = InteractiveShell()
    made.run_line_magic("load_ext", "irwidget")
    return made


def lowered(comparison: str) -> Any:
    """A cell with this at its end, its line 13."""
    shell().run_cell(f"%%lower --to triton_ir --check --text\n{CHECKED}{comparison}\n")
    return shell().user_ns["_lowering"]


def checked(comparison: str) -> Verdict:
    return lowered(comparison).check


@pytest.mark.parametrize(
    ("comparison", "state", "said"),
    [
        ("torch.testing.assert_close(y, x + 1)", "not checked", "agrees with the cell's reference (line 13)"),
        ("torch.allclose(y, x + 1)", "not checked", "agrees with the cell's reference (line 13)"),
        ("torch.equal(y, x)", "differs", "the cell's own reference at line 13 says: equal says no"),
        ("torch.equal(x, x)", "not checked", "the cell compares nothing with what plus_one wrote"),
        ("torch.testing.assert_close(y.cpu(), (x + 1).cpu())", "not checked", "agrees with the cell's reference"),
        ("torch.equal(y.double()[3:9].clone(), x[3:9].double())", "differs", "line 13 says: equal says no"),
        ("torch.equal(x.clone().copy_(y), x)", "differs", "line 13 says: equal says no"),
        ("torch.equal(torch.cat([y, y]), torch.cat([x, x]))", "differs", "line 13 says: equal says no"),
        (
            "torch.equal(torch.zeros_like(y), x * 0)",
            "not checked",
            "nothing with what plus_one wrote, or what it makes",
        ),
        ("y.equal(x)", "differs", "line 13 says: equal says no"),
        ("y.allclose(x)", "differs", "line 13 says: allclose says no"),
        ("torch.isclose(y, x + 1)", "not checked", "compares nothing"),
        ("print(torch.isclose(y, x + 1).all())", "not checked", "agrees with the cell's reference (line 13)"),
        ("bool(torch.isclose(y, x + 1).all())", "not checked", "agrees with the cell's reference (line 13)"),
        ("bool(torch.isclose(y, x).all())", "differs", "line 13 says: isclose says no"),
        ("bool(y.isclose(x).any())", "not checked", "compares nothing"),
        ("bool(y.isclose(x).logical_or_(y > 0).all())", "not checked", "compares nothing"),
        ("y.zero_(); torch.equal(y, x + 9)", "not checked", "compares nothing"),
        ("y.copy_(x); torch.equal(y, x + 9)", "not checked", "compares nothing"),
        ("y.fill_(2); torch.equal(y, x + 9)", "not checked", "compares nothing"),
        ("y[...] = x; torch.equal(y, x + 9)", "not checked", "compares nothing"),
        ("torch.add(x, 1, out=y); torch.equal(y, x + 9)", "not checked", "compares nothing"),
        ("y.normal_(); torch.equal(y, x + 9)", "not checked", "compares nothing"),
        ("y[:40] = 0; y[40:] = 0; torch.equal(y, x + 9)", "not checked", "compares nothing"),
        ("y[:8] = 0; torch.equal(y[:8], x[:8])", "not checked", "compares nothing"),
        ("y[:8] = 0; torch.equal(y[8:], x[8:])", "differs", "line 13 says: equal says no"),
        ("y[:8] = 0; torch.equal(y, x)", "not checked", f"{MADE} differs from its reference (line 13): equal says no"),
        ("y[:8] = 0; torch.equal(y.cpu(), x)", "not checked", f"{MADE} differs from its reference (line 13): equal"),
        ("y[y > 0] = 0; torch.equal(y, x * 0)", "not checked", f"{MADE} agrees with its reference (line 13)"),
        ("y += 1; torch.equal(y, x + 2)", "not checked", f"{MADE} "),
        ("z = x.clone(); z[4:] = y[4:]; torch.equal(z[4:], x[4:])", "differs", "line 13 says: equal says no"),
        ("z = x.clone(); z[4:] = y[4:]; torch.equal(z[:4], x[4:8])", "not checked", "compares nothing"),
        ("z = x.clone(); z[4:] = y[4:]; torch.equal(z, x)", "not checked", f"{MADE} differs from"),
        ("torch.equal(torch.cat([x, y]), torch.cat([x, x]))", "not checked", f"{MADE} differs from its reference"),
        ("torch.testing.assert_close((y * 2).sum(), (x * 2 + 2).sum())", "not checked", f"{MADE} agrees with its ref"),
        ("torch.equal(y * 2, y + y)", "not checked", "compares nothing"),
        ("z = x * 0; plus_one[(1,)](y, z); torch.equal(z, x)", "differs", "line 13 says: equal says no"),
        ("assert (y == 0).all()", "differs", "line 13 says: == says no"),
        ("y.zero_(); assert (y == 0).all()", "not checked", "compares nothing"),
        ("None", "not checked", "the cell compares nothing with what plus_one wrote"),
    ],
)
def test_a_check_is_by_the_cells_own_reference_and_never_of_what_was_not_executed(comparison, state, said, capsys):
    verdict = checked(comparison)
    assert verdict.state == state, capsys.readouterr()
    assert said in verdict.reason
    if state == "not checked":
        assert verdict.reason.startswith("triton_ir is not executed")


def test_a_cell_that_ends_before_it_compares_says_why():
    """A launch that could not be executed: of the cell's comparisons after it nothing is known."""
    fails = """
@triton.jit
def fails(y_ptr):
    tl.device_assert(tl.load(y_ptr) < 0, "no")

fails[(1,)](y, debug=True)
assert torch.equal(y, x)
"""
    shell().run_cell(f"%%lower --to triton_ir --check --text\n{CHECKED}{fails}")
    shown = shell().user_ns["_lowering"]
    said = [one.check.reason for one in shown.values()]
    why = "fails is not executed: AssertionError: no"
    assert [one.partition(": ")[0] for one in said] == [
        f"triton_ir is not executed, and the cell ended before it compared what {name} wrote"
        for name in ("plus_one", "fails")
    ]
    assert all(why in one for one in said)


AGREES = "triton_ir is not executed; the kernel's TTIR, executed on the CPU, agrees with the cell's reference (line 13)"
REFERENCES = """
assert (y - R).abs().max() < 1e-3
assert 1e-3 > torch.max(torch.abs(R - y))
max_err = (y - R).abs().max().item(); assert max_err < 1e-3, max_err
ok = (y - R).abs().max() < 1e-3; print(ok)
print("PASS" if (y - R).abs().max().item() < 1e-3 else "FAIL")
err = 100 * (y - R).abs().max().item() / R.abs().max().item(); assert err <= 1e-3
assert not (y - R).abs().max() > 1e-3
assert max((y - R).abs().max().item(), 0.0) < 1e-3
if (y - R).abs().max() > 1e-3: raise ValueError("wrong")
if not torch.allclose(y, R): raise ValueError("wrong")
if not torch.allclose(y, R): print("wrong")
ok = torch.allclose(y, R); print(ok)
ok = torch.allclose(y, R); n = 1 if ok else 2
ok = torch.allclose(y, R); print(ok); assert ok; ok = None
wrong = not torch.allclose(y, R); assert not wrong
wrong = lambda a, b: not torch.allclose(a, b); assert not wrong(y, R)
assert torch.mean((y - R) ** 2) < 1e-6
assert ((y - R) * 2).pow(2).mean().sqrt().item() < 1e-3
assert (y - R.sqrt() ** 2).abs().max() < 1e-3
assert torch.nn.functional.mse_loss(y, R) < 1e-6
assert torch.dist(y, R) < 1e-3
assert torch.norm(y - R) / torch.norm(R) < 1e-3
assert torch.linalg.norm(y.double() - R.double()) < 1e-3
d = y - R; d.abs_(); assert d.max() == 0
assert torch.all(torch.abs(y - R) < 1e-3)
assert ((y - R).abs() <= 1e-3 + 1e-3 * R.abs()).all()
assert not ((y - R).abs() > 1e-3).any()
assert ((y - R).abs() > 1e-3).float().mean().item() < 0.01
assert torch.sum(torch.abs(y - R) > 1e-3).item() == 0
assert (y == R).all()
assert torch.all(torch.eq(y, R)).item()
assert not (y != R).any()
assert (y != R).sum() == 0
n = (y != R).sum().item(); assert n == 0
assert torch.isclose(y[0], R[0])
assert all(torch.allclose(a, b) for a, b in [(y, R)])
assert torch.allclose(input=y, other=R)
torch.testing.assert_close(actual=y, expected=R)
torch.testing.assert_close((y, x), (R, x))
torch.testing.assert_close({"a": y.cpu(), "b": [x]}, {"a": R.cpu(), "b": [x]})
triton.testing.assert_close(y, R)
np.testing.assert_allclose(y.cpu().numpy(), R.cpu().numpy(), rtol=1e-5)
np.testing.assert_array_equal(y.cpu(), R.cpu())
np.testing.assert_almost_equal(y.cpu().numpy()[3:9], R.cpu().numpy()[3:9])
assert np.allclose(y.cpu().numpy(), R.cpu().numpy())
print(np.array_equal(y.cpu().numpy(), R.cpu().numpy()))
""".strip().splitlines()


@pytest.mark.parametrize("form", REFERENCES)
def test_a_reference_is_seen_in_every_form_and_says_which_kernel_is_wrong(form):
    right = checked(form.replace("R", "(x + 1)"))
    assert (right.state, right.reason) == ("not checked", AGREES)
    wrong = checked(form.replace("R", "(x + 1.5)"))
    assert (wrong.state, wrong.dump) == ("differs", "the kernel's TTIR, before any pass")
    assert str(wrong).startswith("DIFFERS from the cell's own reference after the kernel's TTIR, before any pass: ")
    assert wrong.reason.startswith("the CPU executes its TTIR, and the cell's own reference at line 13 says: ")


FOLLOWED = """
assert (y - R + 1 - 1).abs().max() < 1e-3
assert 1 - (y - R).abs().max() > 0.999
assert float((y - R).abs().max()) < tol
assert 1e-3 > float((y - R).abs().max())
assert y.tolist() == R.tolist()
assert not R.tolist() != y.tolist()
assert torch.tensor(y.tolist()).equal(R)
assert torch.from_numpy(y.numpy()).equal(R)
assert 20 * torch.log10(torch.linalg.norm(R) / torch.linalg.norm(y - R)) > 25
a, b = y.double(), R.double(); assert 1 - 2 * (a * b).sum() / (a * a + b * b).sum() < 1e-3
assert np.abs(y.numpy() - R.numpy()).max() < 1e-3
assert (R.numpy() == y.cpu().numpy()).all()
assert float(np.abs(y.numpy()[4:] - R.numpy()[4:]).max()) < 1e-3
a = y.numpy().astype(np.float64); assert np.sqrt(((a - R.numpy()) ** 2).mean()).item() < tol
assert np.linalg.norm(y.numpy() - R.numpy()) / np.linalg.norm(R.numpy()) < 1e-5
assert np.all(np.abs(y.numpy() - R.numpy()) <= 1e-3 + 1e-3 * np.abs(R.numpy()))
assert np.isclose(y.numpy(), R.numpy(), 1e-4).all()
assert np.count_nonzero(y.numpy() != R.numpy()) == 0
a, b = np.asarray(y), np.array(R); assert np.abs(a - b).max() < 1e-3
a = np.array(y, dtype=np.float64); assert np.abs(a - np.asarray(R)).max() < 1e-3
err = float((y - R).abs().max()); print(err); assert err < tol, err
assert (torch.isclose(y, R) == 0).sum().item() <= 0
assert torch.isclose(y, R).float().mean() > 0.99
assert 1 - torch.isclose(y, R).float().mean().item() < 1e-2
assert torch.isclose(y, R).sum().item() == y.numel()
assert (y == R).float().mean() == 1
assert (y == R).float().sum() == 64.0
assert np.count_nonzero(y.numpy() == R.numpy()) == 64
assert torch.nn.functional.smooth_l1_loss(y, R) < 1e-6
assert round((y - R).abs().max().item(), 4) == 0
assert y[3].item() == R[3].item() and y.tolist()[3] == R[3].item()
assert all([abs(a - b) < 1e-3 for a, b in zip(y.tolist(), R.tolist())])
assert max(abs(a - b) for a, b in zip(y.tolist(), R.tolist())) <= tol
assert (y.tolist()[5] - R.tolist()[5]) ** 2 < 1e-3
assert math.isclose(y[3].item(), R[3].item(), rel_tol=1e-5)
assert all(math.isclose(b, a, rel_tol=1e-5) for a, b in zip(y.tolist(), R.tolist()))
assert math.isclose((y - R).abs().max().item(), 0, abs_tol=1e-3)
assert math.isclose(y[3].item() - R[3].item(), 0, abs_tol=1e-3)
assert y[3].item() == pytest.approx(R[3].item())
assert pytest.approx(R[3].item() * (1 + 1e-7)) == y[3].item()
assert y.tolist() == pytest.approx([one * (1 + 1e-7) for one in R.tolist()])
assert y.view(8, 8).tolist()[2] == R.view(8, 8).tolist()[2]
assert y[3] == R[3].item()
assert not y[3] != R[3].item()
z = y[3:4].expand(9); assert (z == R[3].item()).all()
two = R[3].item(); assert float(y[3]) == two
two = R[3].item(); assert two == float(y[3].item())
two = R[3].item(); first = float(y[3]); assert first == two
two = R[3].item(); f = lambda a: float(a[3]); assert f(y) == two
assert float((y - R).abs().max()) == 0
assert math.fabs(y[3].item() - R[3].item()) < 1e-3
unittest.TestCase().assertAlmostEqual(y[3].item(), R[3].item(), 3)
unittest.TestCase().assertAlmostEqual(R[3].item(), y[3].item(), delta=1e-3)
off = torch.logical_or((y - R).abs() > 1e-3 * R.abs(), torch.logical_xor(y.isnan(), R.isnan())); assert off.sum() == 0
assert abs(float(y[3]) - float(R[3])) < 1e-3
two = float(R[3]); one = float(y[3]); assert abs(two - one) < 1e-3
assert float((y - R).abs().max()) * 100 < 1
assert 1e-3 > float((y - R).abs().max()) / float(R.abs().max())
far = float((y - R).abs().max()); large = float(R.abs().max()); print(end=""); assert far <= 1e-5 + tol * large
far = float((y - R).abs().max()) / 2; limit = tol / 2; assert far < limit
limit = 9; far = float((y - R).abs().max()); limit = tol; assert far < limit
assert int((y != R).sum()) / y.numel() < 0.01
assert int(torch.isclose(y, R).sum()) == len(y)
assert math.sqrt(float(((y - R) ** 2).mean())) < 1e-3
assert math.sqrt(((y - R) ** 2).mean().item()) < 1e-3
rel = lambda a, b: float((a - b).abs().max()) / float(b.abs().max()); assert rel(y, R) < 1e-3
unittest.TestCase().assertLess(float((y - R).abs().max()) / 2, 1e-3)
assert np.linalg.norm(y - R) / np.linalg.norm(R) < 1e-3
assert np.isclose(y, R).all()
assert np.abs(y - R).max() < 1e-3
assert np.sqrt(np.square(y - R).mean()).item() < 1e-3
assert np.all(np.abs(np.array(y.tolist()) - np.asarray(R.tolist())) < 1e-3)
assert sum(abs(a - b) for a, b in zip(y.tolist(), R.tolist())) / 64 < 1e-3
assert sum((a - b) ** 2 for a, b in zip(y.tolist(), R.tolist())) < 1e-3
""".strip().splitlines()
IN_PART = """
assert abs(float(y.sum()) - float(R.sum())) < 1e-3 * max(abs(float(R.sum())), 1.0)
assert abs(float(y[3]) / float(R[3]) - 1) < 1e-3
assert float(torch.cosine_similarity(y, R, dim=0)) * 100 > 99.9
assert (y - R).std() < 1e-3
assert ((y - R).var() / R.var()).item() < 1e-3
assert (y - R).abs().median() < 1e-3
assert (y - R).abs().sort().values[-1] < 1e-3
assert torch.cosine_similarity(y, R, dim=0) > 0.999
assert 1 - torch.nn.CosineSimilarity(0)(y, R) < 1e-3
assert np.allclose(y.numpy() * 2, R.numpy() * 2)
near = torch.cosine_similarity(y, R, dim=0).item(); assert 1 - near < 1e-3
assert y.numel() - torch.isclose(y, R).sum().item() == 0
ratio = y.norm().item() / R.norm().item(); assert abs(ratio - 1) < 1e-3
assert abs(sum(y.tolist()) / 64 - R.mean().item()) < 1e-3
two = int(R[3].item()); assert int(y[3].item()) == two
two = int(R[3]); assert int(y[3]) == two
assert int((y - R).abs().max()) == 0
assert int((y - R).abs().max().item()) < 1
z = R; assert (y * z).sum() / (y.norm() * z.norm()) > 0.999
a, b = y.double(), R.double(); assert a @ b / (a.norm() * torch.sqrt((b * b).sum()) + 1e-8) > 0.999
""".strip().splitlines()
"""What says less of a kernel that is right than of one that is wrong."""


def noted(forms: list[str]) -> list[list[tuple[Any, ...]]]:
    """What is noted of comparisons, each of which fails for itself."""
    lines = [line for form in forms for line in (f"try: {form}", "except AssertionError: pass")]
    source = "\n".join([CHECKED.strip(), "import math, unittest; tol = 1e-3", *lines])
    [launch] = frontend.run_cell(shell(), source, values=True)
    first = source.count("\n") + 2 - len(lines)
    places = range(first, first + len(lines), 2)
    known = [(one.place.line, one.equal, one.exact) for one in launch.compared if one.place and one.equal is not None]
    return [[*dict.fromkeys(one[1:] for one in known if one[0] == place)] for place in places]


def test_what_a_cell_computes_of_a_difference_is_followed_in_numpy_lists_and_similarities():
    forms = FOLLOWED + IN_PART
    right = noted([form.replace("R", "(x + 1)") for form in forms])
    assert dict(zip(forms, right, strict=True)) == {form: [(True, form in FOLLOWED)] for form in forms}
    wrong = noted([form.replace("R", "(0.5 - x)") for form in forms])
    part = ("() * 2", "ratio", "sum(y.tolist())", "y.sum()", "float(y[3]) /")
    exact = {form: [(False, not any(one in form for one in part))] for form in forms}
    assert dict(zip(forms, wrong, strict=True)) == exact


FUNCTIONS = """
tol = 1e-3
def returning(a, b):
    if (a - b).abs().max() < tol:
        return True
    print("differs")
    return False

def raising(a, b):
    err = (a - b).abs().max().item()
    if err <= tol:
        return
    raise AssertionError(err)

def verbosely(a, b):
    wrong = ((a - b).abs() > tol).sum().item()
    close = wrong == 0
    if not close and wrong >= 1:
        raise AssertionError(wrong)

def twice(a, b, strict):
    if torch.equal(a, b):
        return
    if strict:
        return
    raise AssertionError

def in_two_ways(a, b, warn):
    err, far = (a - b).abs().max().item(), ((a - b).norm() / b.norm()).item()
    if far > 3:
        return
    if err <= 1e-6:
        return
    assert not torch.isnan(a).any()
    if warn:
        print("warned")
    else:
        assert far < tol

def keeping(a, b, best=[9.0]):
    err = (a - b).abs().max().item()
    if err < best[0]:
        best[0] = err
        return True
    return False

for R in (x + 1, x):
    for compared in ("keeping(y,R)", "assert returning(y, R)", "raising(y, R)", "verbosely(y, R)", "twice(y, R, True)",
                     "in_two_ways(y, R, False)", "in_two_ways(y, x + 1 + 5e-5, False)", "in_two_ways(y, R, True)"):
        try: exec(compared)
        except AssertionError: pass
    strict = False; assert torch.equal(y, R) or not strict
    err = float((y - R).abs().max())
    if strict: raise AssertionError
    assert err < 2
    while float((y - R).abs().max()) > 2: pass
"""


def test_a_function_says_by_what_it_does_after_a_comparison_what_that_is_for():
    [launch] = frontend.run_cell(shell(), CHECKED + FUNCTIONS, values=True)
    begin = CHECKED.count("\n")
    known = [(one.place.line - begin, one.equal) for one in launch.compared if one.place and one.equal is not None]
    near = [(3, True), (10, True), (16, True), (21, True), (31, True), (37, True), (31, True), (51, True)]
    assert known == [*near, (3, False), (10, False), (17, False), (37, False), (37, True)]


CASE = """
import io, unittest
class T(unittest.TestCase):
    def test(self):
        R = x + N
        self.assertAlmostEqual((y - R).abs().max().item(), 1 - N, 3)
        with self.subTest(): self.assertTrue(torch.allclose(y, R), "not close")
        with self.subTest(): self.assertFalse(((y - R).abs() > 1e-3).any())
        with self.subTest(): self.assertLess((y - R).abs().max().item(), 1e-3)
        with self.subTest(): self.assertLessEqual(float((y - R).abs().max()), 1e-3)
        with self.subTest():
            err = float((y - R).abs().max())
            self.assertGreater(1e-3, err)
        with self.subTest(): self.assertEqual((y != R).sum().item(), 0)
        with self.subTest(): self.assertListEqual(y.tolist(), R.tolist())
        with self.subTest(): self.assertLess(float((y - R).abs().max()), 1e-3)
        with self.subTest(): self.assertGreaterEqual(1e-3, float((y - R).abs().max()))
        with self.subTest(): self.assertTrue(True, torch.allclose(y, R))
unittest.TextTestRunner(stream=io.StringIO()).run(T("test"))
"""


@pytest.mark.parametrize("added", [1, 0])
def test_a_case_of_unittests_ends_by_what_it_compares(added):
    [launch] = frontend.run_cell(shell(), CHECKED + CASE.replace("N", str(added)), values=True)
    begin = CHECKED.count("\n")
    known = [(one.place.line - begin, one.equal, one.asked) for one in launch.compared if one.equal is not None]
    almost = [(5, True, True)] * added  # where it is almost 0, and not almost 1
    assert known == almost + [(line, added == 1, line != 17) for line in (6, 7, 8, 9, 12, 13, 14, 15, 16, 17)]


UNSAID = """
assert -(y - x).abs().max() < 1e-3
assert (y - x).abs().max() * -1 < 1e-3
print((y - x).abs().max() == 2, torch.cosine_similarity(y, x, dim=0) == 0)
err = (y - x).abs().max().item(); assert -err < 1e-3; assert err * -1 < 1e-3
assert (y * x).sum() / (y * y + x * x).sum() > 0
assert x.norm() / (y - x).sum() > 0
assert 2 - (y - x).sum().item() * -1 > 0 and (y - x).abs().max().item() - (y - x).min().item() < 1
z = x * 1; assert 2 * (y * x).sum() / (y * y + z * z).sum() > 0
z = x * 1; assert 4 * (y * z).sum() / (y * y * 2 + z * z).sum() > 0
z = x * 1; assert (y * z).sum() / (y.norm() * z.norm() + 100.0) > 0
near = torch.isclose(y, x).sum().item(); assert near + near > -1
n = torch.isclose(y, x); print(n.sum() == 63, n.float().mean().sqrt() == 1, (n.view(8, 8).sum(0) == 64).all())
n = torch.isclose(y, x).sum(); print(n + 1 == 64)
assert (y - x).abs().max() ** -1 < 2
assert torch.from_numpy(y.numpy()).equal(y) and torch.tensor(y.tolist()).equal(y)
torch.nn.functional.dropout(x, (y - x - 1).abs().max().item())
import random; random.seed(1); random.sample(range(100), (y != x).sum().item())
import random; random.seed(1); random.sample(range(100), (y != x).sum())
torch.nn.functional.dropout(x, (y - x - 1).abs().max())
import bisect; bisect.bisect([0.1, 2.0], (y - x).abs().max().item())
assert y[0].item() > 0 and y[0].item() - 1 < 9 and -abs(y[0].item()) < 1
assert y.sum().item() == sum(y.tolist()) or y.tolist()[0] - y.min().item() < 9
n = y.tolist()[1]; assert n != 5 and abs(n - y[1].item()) < 1
assert not (y == 9).any() and y[3] != 9 and int(y[3]) != 9
print((y == 0).sum().item(), (y == 0).any(), (y == 0).float().mean(), y[3] == 9)
assert (y == 0).sum() < 3 and (y != 9).float().mean() > 0.5
n = 9; f"{int(y[3])}"; [0, 1, 2][int(y[3])]; "%d" % y[3].item(); range(int(y[3].item()) + 1)
assert float((y - x).abs().max()) < float(y.max()) and float(y[0]) - float(y[1]) < 5
n = 1; far = float((y - x).abs().max()); n = len(str(far)); assert far < n
z = x * 0; far = float((y - x).abs().max()); z.fill_(9); assert far < float(z.max())
z = x * 0; far = float((y - x).abs().max()); n = z.fill_(9); assert far < float(z.max())
assert -float((y - x).abs().max()) < 1e-3
a = y.numpy() - x.numpy(); a[:] = 0; assert np.abs(a).max() < 1e-3
a = y.numpy().copy(); a[:] = x.numpy(); assert (a == x.numpy()).all()
assert sum(a - b for a, b in zip(y.tolist(), x.tolist())) < 99 and np.abs(y).max() < 9 and np.abs(3) == 3
n = torch.isclose(y, x).sum().item(); assert (y - x).abs().max().item() + n > -1
assert np.concatenate([y.numpy(), y.numpy()]).std() > 0
""".strip().splitlines()


def test_what_says_nothing_of_a_difference_is_not_taken_for_a_comparison():
    assert dict(zip(UNSAID, noted(UNSAID), strict=True)) == {form: [] for form in UNSAID}


def test_arrays_and_lists_of_results_are_as_others():
    lines = [
        "a = y.numpy(); e = np.abs(a - x.numpy() - 1).max(); n = y.tolist()",
        "numbers = f'{e:.1f}', round(e, 1), '%.1f' % e, max(e, 0.5), {e: 1}[e]",
        "shown = repr(a[:1]) == repr(np.array(a[:1])), repr(e), *numbers",
        "copies = [*map(pickle.loads, map(pickle.dumps, (a, e, n)))]; kinds = [type(one) for one in copies]",
        "import warnings\nwith warnings.catch_warnings(action='error'): float((y - x).abs().max())",
    ]
    launches = frontend.run_cell(shell(), "\n".join([CHECKED, "import pickle", *lines]), values=True)
    assert launches.error is None
    found = [shell().user_ns[name] for name in ("shown", "kinds")]
    assert (found[0][0], *found[0][2:]) == (True, "0.0", 0.0, "0.0", 0.5, 1)
    assert found[0][1].startswith("np.float32(")
    assert found[1] == [np.ndarray, np.ndarray, list]


def test_a_kernel_that_writes_what_was_there_has_written_it():
    cell = "y = x + 1; z = y.clone(); plus_one[(1,)](x, y); torch.equal(y, z); y.fill_(2); plus_one[(1,)](x, y)"
    assert noted([cell, "assert torch.equal(y, x + 1)"]) == [[(True, True)], [(True, True)]]


def test_what_the_cell_compares_says_nothing_of_an_edited_dump():
    """It was written by the kernel as it is in the cell, which the edit may have put right."""
    low = lowered("torch.equal(y, x + 2)")
    edited = low.edit(0, low.dumps[0].text.replace("1.000000e+00", "2.000000e+00")).run(check=True)
    assert "dense<2.0" in edited.text
    assert (low.check.state, edited.check.state) == ("differs", "not checked")
    assert "was written by its kernel, not by what was edited" in edited.check.reason


NOTHING = "the cell compares nothing with what plus_one wrote"
ONLY_SHOWN = "differs by a comparison, which the cell only shows (line 13): allclose says no"
AGAIN = "plus_one[(1,)](x, y)"


@pytest.mark.parametrize(
    ("cell", "said"),
    [
        ("assert not torch.equal(y, x)", NOTHING),
        ("assert not torch.allclose(y, torch.zeros_like(y))", NOTHING),
        ('if torch.equal(y, x): raise ValueError("unchanged")', NOTHING),
        ('if torch.allclose(y, x): print("unchanged")', ONLY_SHOWN),
        ('if torch.allclose(y, x + 1): print("right")', AGREES),
        ("same = torch.allclose(y, x); assert not same", NOTHING),
        ("assert not all(a == b for a, b in zip(y.tolist(), x.tolist()))", NOTHING),
        ("assert any([abs(a - b) < 1e-3 for a, b in zip(y.tolist(), (x + 1).tolist()[::-1])]) or True", NOTHING),
        ("assert y[3].item() != pytest.approx(x[3].item())", NOTHING),
        ("assert y.tolist() != pytest.approx(x.tolist())", NOTHING),
        ("same = torch.allclose(y, x)\nif same: raise ValueError(same)", NOTHING),
        ("same = torch.equal(y, x); other = same; assert not other", NOTHING),
        ("def same(a, b): return torch.equal(a, b)\nassert not same(y, x)", NOTHING),
        ("def same(a, b):\n    all = torch.equal(a, b)\n    return all\nif same(y, x): raise ValueError(1)", NOTHING),
        ("same = lambda a, b: torch.equal(a, b)\nassert not same(y, x)", NOTHING),
        ("torch.testing.assert_close(y, x + 1, rtol=1e-3)", NOTHING),  # a ValueError: atol is missing
        ("torch.testing.assert_close(y, 'x')", NOTHING),
        ("while True:\n    same = torch.equal(y, x)\n    if same: break\n    y.copy_(x)", NOTHING),
        ("if torch.equal(y, x): n = 1", NOTHING),
        ("while not torch.equal(y, x): y.copy_(x)", NOTHING),
        ("assert (y - x).abs().max() > 0", NOTHING),
        ("assert torch.allclose(y, x) or torch.allclose(y, x + 1)", AGREES),
        (
            "n = 0.0; n = max(n, (y - x).abs().max().item())",
            "reads how far it is off its reference, 1 (line 13), and comp",
        ),
        ("n = (y - x).mean().item()\nif n > 0.5: best = n", "reads how far it is off its reference, 1 (line 13)"),
        ("print((y - x).mean(), f'{(y - x).mean():.3f}')", "reads how far it is off its reference, 1 (line 13)"),
        ("one, two = (y - x).max().item(), (y - (x + 1)).max().item(); assert two >= one", "how far it is off its ref"),
        ('if (y == 0).all(): print("nothing")', NOTHING),
        ('if (y == 0).all(): raise ValueError("nothing")', NOTHING),
        ("while (y == 0).all(): pass", NOTHING),
        ("assert y.max() < 1", NOTHING),
        ("assert (y - y.mean()).abs().max() < 1e-6", NOTHING),
        ("a = y.cpu().numpy(); a -= 1; np.testing.assert_array_equal(a, x.cpu().numpy() + 1)", NOTHING),
        (
            "assert (y - (x + 2)).max() < 1e-3",
            f"{MADE} agrees with its reference (line 13)",
        ),  # 1 less, and says nothing
        (f"x[0] = torch.nan; {AGAIN}; assert (y - (x + 1)).abs().max() < 1", f"{MADE} differs from its reference"),
        (f"x[0] = torch.nan; {AGAIN}; assert not (y - (x + 1)).abs().max() > 1", f"{MADE} differs from its reference"),
        (f"x[0] = torch.nan; {AGAIN}; assert (y == x + 1).all()", f"{MADE} differs from its reference (line 13): =="),
        (f"x[0] = torch.inf; {AGAIN}; assert (y - (x + 1)).abs().max() < 1", f"{MADE} differs from its reference"),
        (f"x[0] = torch.inf; {AGAIN}; assert (y == x + 1).all()", AGREES),
        (f"x[0] = -1; {AGAIN}; r = x + 1; assert ((y - r) / r).abs().max() < 1", f"{MADE} differs from its reference"),
        ("z = x + 1 + 1e-6; print(torch.equal(y, z)); assert torch.allclose(y, z)", AGREES),
        ("z = x + 1 + 1e-6; print(torch.equal(y, z), torch.allclose(y, z))", AGREES),
        ("print(torch.allclose(y, x)); torch.testing.assert_close(y, x, atol=2, rtol=0)", "which the cell only shows"),
    ],
)
def test_what_is_no_reference_and_what_a_reference_outweighs_makes_no_kernel_wrong(cell, said):
    verdict = checked(cell)
    assert verdict.state == "not checked", verdict
    assert said in verdict.reason


def test_of_several_kernels_that_are_compared_at_once_the_wrong_one_is_named():
    second = CHECKED.partition("@triton.jit")[2].partition("x = torch")[0].replace("plus_one", "second")
    cell = f"@triton.jit{second}z = torch.empty_like(x)\nsecond[(1,)](x, z)\n"
    low = lowered(f"{cell}torch.testing.assert_close((y, z), (x + 1, x))")
    states = {name: one.check.state for name, one in low.items()}
    assert states == {"plus_one": "not checked", "second": "differs"}
    low = lowered(f"{cell}torch.equal(torch.stack([y, z]), torch.stack([x + 1, x]))")
    said = f"{MADE} differs from its reference (line 20): equal says no"
    found = {(one.check.state, one.check.reason.partition("; ")[2]) for one in low.values()}
    assert found == {("not checked", said)}, "of one tensor nobody knows whose part of it is wrong"


def test_a_kernel_that_was_given_results_of_another_is_not_blamed_alone():
    second = CHECKED.partition("@triton.jit")[2].partition("x = torch")[0].replace("plus_one", "second")
    cell = f"@triton.jit{second}z = torch.empty_like(x)\nsecond[(1,)](y, z)\n"
    blamed = "1 < 0.5 is False (it was given results of plus_one, which may be what is wrong)"
    for more, said in (("", blamed), ("assert torch.equal(y, x + 1)\n", "1 < 0.5 is False")):
        low = lowered(f"{cell}{more}assert (z - (x + 1)).abs().max() < 0.5")
        assert low["second"].check.state == "differs"
        assert low["second"].check.reason.partition("says: ")[2] == said
        made = low["plus_one"].check.reason.partition(f"; {MADE} ")
        assert made[2] == f"differs from its reference (line {20 + bool(more)}): 1 < 0.5 is False"
        assert made[0] == (AGREES.replace("13", "20") if more else AGREES.partition(";")[0])


def test_of_runs_of_a_kernel_each_has_to_do_with_those_alone_whose_results_it_was_given():
    kernel = CHECKED.partition("@triton.jit")[2].partition("x = torch")[0]
    kernels = "".join("@triton.jit" + kernel.replace("plus_one", name) for name in ("second", "third"))
    chain = "a, {0} = map(torch.empty_like, (x, x)); {1}[(1,)](x, a); plus_one[(1,)](a, {0})\n"
    runs = chain.format("s", "second") + chain.format("t", "third")
    low = lowered(f"{kernels}{runs}print(torch.allclose(s, x + 2))\nprint(torch.allclose(t, x + 3))")
    not_run = AGREES.partition(";")[0]
    assert low["second"].check.reason == f"{not_run}; {MADE} agrees with its reference (line 25)"
    assert low["third"].check.reason == f"{not_run}; {MADE} differs from its reference (line 26): allclose says no"
    blamed = "line 26 says: allclose says no (it was given results of third, which may be what is wrong)"
    assert (low["plus_one"].check.state, blamed in low["plus_one"].check.reason) == ("differs", True)
    low = lowered(f"{kernels}{runs}print(torch.equal(s, t))")  # by the same kernel
    assert all("compares nothing" in one.check.reason for one in low.values())


@pytest.mark.parametrize("compared", ["torch.testing.assert_close(z, x[:60] + 1)", "None"])
def test_a_kernel_that_writes_outside_of_its_tensors_is_wrong_whatever_the_cell_compares(compared):
    verdict = checked(f"z = torch.zeros(60, device='cuda'); plus_one[(1,)](x, z); {compared}")
    assert (verdict.state, verdict.dump) == ("differs", "the kernel's TTIR, before any pass")
    assert re.fullmatch(
        r"the CPU executes its TTIR, which writes outside of its tensors at \S+:8:5 \(launched at \S+:13\)",
        verdict.reason,
    )
    inside = checked(
        "z = torch.zeros(64, device='cuda')[:60]; plus_one[(1,)](x, z); torch.testing.assert_close(z, x[:60] + 1)"
    )
    assert "agrees with the cell's reference" in inside.reason


def test_where_a_kernel_reads_outside_of_its_tensors_a_comparison_that_fails_counts_and_no_other():
    launch = "z, w = x[:60].clone(), torch.empty_like(x); plus_one[(1,)](z, w)"
    differs = checked(f"{launch}; torch.testing.assert_close(w[4:], x[4:] + 1)")
    assert differs.state == "differs"
    assert "line 13 says: Tensor-likes are not close" in differs.reason
    assert re.search(r"; it reads outside of its tensors at \S+ \(launched at \S+:13\)$", differs.reason)
    agrees = checked(f"{launch}; torch.testing.assert_close(w[:9], x[:9] + 1)")
    assert agrees.state == "not checked"
    assert "plus_one reads outside of its tensors" in agrees.reason


def test_a_number_that_was_read_is_a_number_when_the_cell_is_over():
    checked("err = (y - x).abs().max().item(); n = (y != x).sum().item()")
    err, n = (shell().user_ns[name] for name in ("err", "n"))
    assert (err == 1, n == 64, n < 100, hash(n), repr(n)) == (True, True, True, hash(64), "64")
    copy = pickle.loads(pickle.dumps((err / 2, n)))
    assert [(type(one), one) for one in copy] == [(float, 0.5), (int, 64)]
    assert "agrees" not in shell().user_ns["_lowering"].check.reason


def test_an_element_that_was_read_is_given_to_a_launch_as_a_number():
    scaled = "@triton.jit\ndef scaled(x, by, n: tl.constexpr):\n    i = tl.arange(0, n)\n    tl.store(x + i, i * by)\n"
    lines = [
        "n = y.view(8, 8).tolist(); n[1][1] = 7; n[0].append(n[0][0])",
        "i = torch.full_like(y, 4).int(); plus_one[(1,)](i, i); at, by = i[0].item(), i[1].item()",
        "scaled[(at - 4,)](y, by, by + 3)",
    ]
    launches = frontend.run_cell(shell(), "\n".join([CHECKED, scaled, *lines]), values=True)
    assert launches.error is None
    assert launches.problem is None
    assert [launch.name for launch in launches][-1] == "scaled"
    n, y = (shell().user_ns[name] for name in ("n", "y"))
    assert (len(n[0]), n[1][1], y.tolist()[:9]) == (9, 7, [0, 5, 10, 15, 20, 25, 30, 35, *y.tolist()[8:9]])


def test_a_number_that_was_read_is_a_number_where_the_cell_has_failed():
    with contextlib.suppress(KeyError), frontend.recording("sm_90", values=True) as launches:
        x = torch.ones(64, device="cuda")
        err = (add(x, x) - x).abs().max().item()
        raise KeyError
    assert err < 9
    assert {one.equal for launch in launches for one in launch.compared} == {None}
