"""Ctrl-C and time limits at any moment of a lowering: one line, at once, and the next lowering is right."""

import ctypes
import os
import signal
import subprocess
import sys
import time
import weakref
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest
import torch
from torch import nn
from torch.export import exported_program

import irwidget
from irwidget import registry
from irwidget.frontends import undo
from irwidget.private_torch import FakeTensorMode, kernels, mode_depths
from irwidget.toolchain import budget, forked
from tests.core.test_lower import ctrl_c  # noqa: F401
from tests.soak.first_cells import strike

NEW_MODULES = """
import sys, threading
import irwidget
assert threading.active_count() == 1
from IPython.core.interactiveshell import InteractiveShell
from irwidget import imports

class Listed:
    found = []

    def find_spec(self, name, path=None, target=None):
        if threading.current_thread() is threading.main_thread():
            self.found.append(name)

shell = InteractiveShell.instance()
shell.run_line_magic("load_ext", "irwidget")
sys.meta_path.insert(0, Listed())
from irwidget import arguments
parse = arguments.parse
arguments.parse = lambda *args, **named: (print(*set(imports.OURS) - set(sys.modules)), parse(*args, **named))[1]
try:
    shell.run_cell_magic("lower", "--to tosa_mlir", "nothing = 0")
except irwidget.UsageError:
    print(*(name for name in Listed.found if name.split(".")[0] not in ("IPython", "bdb")))  # a terminal's own
import torch
before = set(sys.modules)
low = irwidget.lower(torch.nn.TransformerEncoderLayer(8, 2, 8, batch_first=True).eval(), torch.ones(1, 2, 8),
                     to="llvm_ir")
low._repr_mimebundle_()
batch = torch.export.Dim("batch", min=2)
irwidget.lower(torch.nn.Linear(4, 4), torch.ones(3, 4), to="tosa_mlir", dynamic_shapes=({0: batch},))
print(*sorted(name for name in set(sys.modules) - before if name.split(".")[0] not in ("irwidget", "encodings")))
"""


def test_the_first_lowering_imports_nothing_on_the_thread_that_can_be_interrupted():
    command = [sys.executable, "-W", "ignore", "-c", NEW_MODULES]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout.split() == []


LOST_LOCK = """
import _imp, sys
from irwidget import imports
_imp.acquire_lock()  # as an import does which Ctrl-C ends at that moment
imports.LATE = 0
imports.wait(("colorsys",), lambda: print("late"))
print(_imp.lock_held(), "colorsys" in sys.modules)
"""


def test_an_interrupted_import_that_kept_the_lock_of_imports_holds_nobody_up():
    done = subprocess.run([sys.executable, "-c", LOST_LOCK], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.split() == ["late", "False", "True"]


def test_a_door_that_an_interrupt_shut_opens_whole_the_next_time(monkeypatch):
    door = registry.doors.Door("irwidget.targets", lambda one: "")

    def struck(value):
        if value.startswith("irwidget.helion"):
            raise KeyboardInterrupt
        return registry.imported(value)

    with monkeypatch.context() as context:
        context.setattr(registry.doors, "imported", struck)
        with pytest.raises(KeyboardInterrupt):
            door.all()
    assert list(door.all()) == list(registry.targets.all())
    assert door.problems == []


@pytest.mark.parametrize("delay", [0.2, 1.5, pytest.param(3.0, marks=pytest.mark.exhaustive)])
def test_an_interrupt_of_the_first_cell_leaves_one_line_and_a_good_kernel(delay):
    struck = strike(delay, imported=False)
    assert struck.good, struck


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.fc = nn.Linear(4, 4)
        self.norm = nn.BatchNorm1d(4)

    def forward(self, x):
        return torch.relu(self.norm(self.fc(x)))


@contextmanager
def struck(function: str, event: str, time: int):
    """Raise KeyboardInterrupt when a function is called, or returns, for the `time`th time: where a signal may."""
    seen = 0

    def trace(frame, what, _):
        nonlocal seen
        if frame.f_code.co_name != function:
            return None  # nobody asks for its lines
        frame.f_trace_lines = False
        if what == event:
            seen += 1
            if seen == time:
                sys.settrace(None)
                raise KeyboardInterrupt
        return trace

    sys.settrace(trace)
    try:
        yield
    finally:
        sys.settrace(None)


PLACES = [
    ("swap_tensor", "call", 3),  # half of the model's parameters are fake
    ("swap_tensor", "return", 2),
    ("_mark_get_dict_dirty", "call", 2),  # half of the settings are set
    ("_uncache_dispatch", "call", 1),  # torch makes an AssertionError of it
    ("__exit__", "call", 20),
    ("__enter__", "return", 20),
]


def check_an_interrupt_of_the_export(place, expected: str) -> None:
    """It leaves torch and the model as they were: what is lowered afterwards is what is expected.

    In a copy of the process: a torch that is not as it was would fail the next one, too.
    """

    def work() -> tuple[str, bool, bool]:
        model, x = Net().eval(), torch.ones(2, 4)
        tensors = [id(tensor) for tensor in (*model.parameters(), *model.buffers())]
        settings = torch._dynamo.config.get_config_copy()
        with struck(*place):
            try:
                irwidget.lower(model, x, to="torch_mlir", isolate=False)
            except irwidget.LoweringInterrupted as stop:
                said = str(stop)
        same = tensors == [id(tensor) for tensor in (*model.parameters(), *model.buffers())]
        same = same and settings == torch._dynamo.config.get_config_copy()
        return said, same, expected == irwidget.lower(model, x, to="torch_mlir", isolate=False).text

    said, *same = forked.call(work)
    assert said.startswith("interrupted in torch.export after ")
    assert same == [True, True]


def test_an_interrupt_of_the_export_leaves_torch_and_the_model_as_they_were():
    """In a process of its own: where others have run, a trace function in a copy may leave CPython 3.11 spinning."""
    done = subprocess.run([sys.executable, "-m", __name__], capture_output=True, text=True, timeout=400)
    assert done.stdout.count("as it was") == len(PLACES), done.stderr


def spins(x):
    while True:
        pass


def sleeps(x):
    time.sleep(60)
    return x


def swallows(x):
    while True:
        try:
            time.sleep(0.01)
        except BaseException:
            return x


class Nothing:
    pass


def busy(seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        pass


LIMIT = r"{} timed out \(after 1 s, the limit of this lowering\)"


@pytest.mark.usefixtures("ctrl_c")
@pytest.mark.parametrize("function", [spins, sleeps, swallows])
@pytest.mark.parametrize("to", ["tosa_mlir", "torch_script_graph_ir"])
def test_python_that_takes_too_long_is_ended(function, to):
    tracer = "torch.export" if to == "tosa_mlir" else "torch.jit.trace"
    began = time.monotonic()
    with pytest.raises(irwidget.ToolError, match=LIMIT.format(tracer)):
        irwidget.lower(function, torch.ones(2), to=to, timeout=1)
    assert time.monotonic() - began < 40
    assert irwidget.lower(nn.ReLU(), torch.ones(2), to="tosa_mlir").failure is None


@pytest.mark.parametrize("to", ["tosa_mlir", "torch_script_graph_ir"])
def test_what_puts_torch_back_is_not_ended_itself(to):
    def enters_a_mode(x):
        FakeTensorMode().__enter__()
        spins(x)

    def work():
        put_back = undo.pop_modes
        undo.pop_modes = lambda depths: (time.sleep(3), put_back(depths))
        with pytest.raises(irwidget.ToolError, match="timed out"):
            irwidget.lower(enters_a_mode, torch.ones(2), to=to, timeout=1)
        return mode_depths()

    assert forked.call(work) == (0, 0)


def test_operators_have_their_kernels_again_where_decompositions_were_interrupted(monkeypatch):
    """torch.export notes what it has to put back after it has changed all."""
    irwidget.lower(nn.Linear(2, 2), torch.ones(1, 2), to="tosa_mlir")
    before, changed, real = kernels(), [], exported_program._get_decomp_for_cia

    def interrupted(operator):
        changed.append(operator)
        if len(changed) == 50:
            assert kernels() != before
            raise KeyboardInterrupt
        return real(operator)

    monkeypatch.setattr(exported_program, "_get_decomp_for_cia", interrupted)
    with pytest.raises(KeyboardInterrupt):
        irwidget.lower(nn.Linear(2, 2), torch.ones(1, 2), to="tosa_mlir")
    assert len(changed) == 50
    assert kernels() == before
    assert all("not_implemented" not in repr(operator._dispatch_cache) for operator in changed)


def test_python_that_takes_too_long_is_ended_on_other_threads():
    with ThreadPoolExecutor(1) as pool, pytest.raises(irwidget.ToolError, match=LIMIT.format("torch.export")):
        pool.submit(irwidget.lower, spins, torch.ones(2), to="tosa_mlir", timeout=1).result(20)


def test_a_limit_that_strikes_in_a_callback_strikes_again_without_a_word():
    """Python drops what is raised in a callback, and would report it."""

    def spins_in_callbacks():
        for _ in range(20):
            one = Nothing()
            at = weakref.ref(one, lambda _: busy(0.05))
            del one, at
        spins(None)

    lost = []
    before, sys.unraisablehook = sys.unraisablehook, lambda one: lost.append(one.exc_type)
    budget._say_nothing_of_lost_ones.cache_clear()
    try:
        with pytest.raises(irwidget.ToolError, match="timed out"), budget.Budget(0.3).enforced("this"):
            spins_in_callbacks()
    finally:
        sys.unraisablehook = before
        budget._say_nothing_of_lost_ones.cache_clear()
    assert not lost


AFTERWARDS = """
import sys
from irwidget.errors import ToolError
from irwidget.toolchain import budget

def spins():
    while True:
        pass

def called():
    seen.append(True)

for watch in (sys.setprofile, sys.settrace):
    seen = []
    try:
        with budget.Budget(0.2).enforced("this"):
            spins()
    except ToolError:
        pass
    watch(lambda *_: None)
    called()
    watch(None)
    print(*seen)
"""


def test_a_profiler_works_after_a_limit_has_struck():
    done = subprocess.run([sys.executable, "-c", AFTERWARDS], capture_output=True, text=True, check=True, timeout=100)
    assert done.stdout.split() == ["True", "True"]


def test_native_code_that_takes_too_long_is_told():
    def hangs(x):
        ctypes.PyDLL(None).usleep(4_000_000)  # holds Python's lock
        return x

    said = r"torch.export timed out \(after 1 s, .*\); it could not be stopped for \d s more"
    with pytest.raises(irwidget.ToolError, match=said):
        irwidget.lower(hangs, torch.ones(2), to="tosa_mlir", timeout=1)


def test_all_ir_types_share_the_time():
    began = time.monotonic()
    with pytest.raises(irwidget.ToolError, match=LIMIT.format("torch.export")) as caught:
        irwidget.lower(spins, torch.ones(2), to=["tosa_mlir", "torch_mlir", "llvm_ir"], timeout=1)
    assert time.monotonic() - began < 40
    assert caught.value.__notes__ == ["It is the same for tosa_mlir, torch_mlir, llvm_ir"]


@pytest.mark.usefixtures("ctrl_c")
def test_an_interrupt_of_the_export_says_where_and_shows_one_line():
    def interrupts(x):
        os.kill(os.getpid(), signal.SIGINT)
        return x

    with pytest.raises(irwidget.LoweringInterrupted, match=r"^interrupted in torch.export after \d s$") as caught:
        irwidget.lower(interrupts, torch.ones(2), to="tosa_mlir")
    assert caught.value._render_traceback_() == [str(caught.value)]
    assert caught.value.lowering is None


if __name__ == "__main__":
    whole = irwidget.lower(Net().eval(), torch.ones(2, 4), to="torch_mlir", isolate=False).text
    for one in PLACES:
        check_an_interrupt_of_the_export(one, whole)
        print("as it was:", one)


def test_a_process_ends_when_the_module_that_it_imports_in_the_background_has_ended():
    """Python ends the threads that are left in the middle of what they do: of C++ code, that aborts the process."""
    code = """
import atexit, sys, threading
def left():
    for one in threading.enumerate()[1:]:
        one.join(0.5)  # it has let go of the lock, and may have a line or two to go
    print([one.name for one in threading.enumerate()])
atexit.register(left)
from irwidget import imports
imports.begin()
while "torch" not in sys.modules:
    pass
"""
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "['MainThread']\n", "")
