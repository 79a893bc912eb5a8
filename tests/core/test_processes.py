"""Processes of our own: what they can import, and what the programs that they start inherit."""

import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time

import psutil
import pytest

import irwidget
from irwidget.toolchain import client, events, processes, texts
from irwidget.trace import Content
from tests.processes import alive, descriptors

MODULE = "import json, os, sys; print(json.dumps([sys.argv, sys.path, __name__, dict(os.environ)]))"


def test_a_child_imports_what_its_parent_would(tmp_path, monkeypatch):
    (tmp_path / "told.py").write_text(MODULE)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "json.py").write_text("raise ImportError('the wrong one')")
    monkeypatch.chdir(elsewhere)
    monkeypatch.setattr(sys, "path", [*sys.path, "", str(tmp_path)])
    for here in (False, True):
        ran = subprocess.run(processes.command("told", "a b", "--c", here=here), capture_output=True, check=True)
        (_, *arguments), path, name, environment = json.loads(ran.stdout)
        assert arguments == ["a b", "--c"]
        assert path == [entry or os.getcwd() for entry in sys.path if entry or here]
        assert name == "__main__"
        assert environment.get("PYTHONPATH") == os.environ.get("PYTHONPATH")


def test_a_users_tool_is_another_pythons_to_run(tmp_path):
    """What our worker needs to be found must not reach it: it would import our packages into another Python."""
    tool = tmp_path / "tool"
    tool.write_text('#!/bin/sh\necho "// $PYTHONPATH"; cat\n')
    tool.chmod(0o755)
    client.shutdown()
    low = irwidget.lower("func.func @f() {\n  return\n}\n", to="raw_ir", pipeline=f"user-tool {tool}")
    assert low.text.splitlines()[0] == f"// {os.environ.get('PYTHONPATH', '')}"


_BEGIN = {
    "pipeline": "irwidget.lower(IR, to='raw_ir', pipeline='user-tool ./tool pipeline')",
    "here": "irwidget.lower(IR, to='raw_ir', pipeline='user-tool ./tool here', isolate=False)",
    "command": "running.run('./tool command')",
    "passes": "feeding.logged(['./tool', 'passes'], b'')",
    "pip": "environments.find('x==1')",
    "lower": "session.Session().lower('tool')",
}
"""What begins a program, by the word that this is given."""
_KERNEL = """
import sys, threading, irwidget
from irwidget import running
from irwidget.queries import session
from irwidget.toolchain import feeding
from irwidget.toolchains import environments
IR = "func.func @f() { return }"
environments._command = lambda *_: ["./tool", "pip"]
def begin(code):
    threading.Thread(target=exec, args=(code, globals())).start()
"""


@pytest.mark.parametrize("begun", [["pipeline"], ["here", "command", "passes", "pip", "lower"]], ids=["one", "others"])
def test_a_program_does_not_outlive_a_kernel_that_is_killed(tmp_path, begun):
    # what the server begins is `tool -m irwidget lower`
    script = '#!/bin/sh\n[ "$1" = -m ] && shift 2\necho $$ > $1.new && mv $1.new $1.pid\nsleep 600\n'
    (tmp_path / "tool").write_text(script)
    (tmp_path / "tool").chmod(0o755)
    last = "sys.executable = './tool'\n" if "lower" in begun else ""
    code = _KERNEL + last + "".join(f"begin({_BEGIN[one]!r})\n" for one in begun)
    kept = {**os.environ, "IRWIDGET_TOOLCHAINS": str(tmp_path)}
    kernel = subprocess.Popen([sys.executable, "-c", code], cwd=tmp_path, env=kept)
    while len(found := [*tmp_path.glob("*.pid")]) < len(begun):
        assert kernel.poll() is None
        time.sleep(0.05)
    tools = [psutil.Process(int(one.read_text())) for one in found]
    left = [*tools, *(child for tool in tools for child in tool.children())]
    kernel.kill()
    kernel.wait()
    assert not psutil.wait_procs(left, timeout=60)[1]


def test_an_interrupt_while_the_worker_starts_leaves_no_process():
    def children() -> list[psutil.Process]:
        client.shutdown()
        return list(alive())

    before = len(children())
    for millisecond in range(12):
        timer = threading.Timer(millisecond / 1000, signal.pthread_kill, [threading.get_ident(), signal.SIGINT])
        with pytest.raises(KeyboardInterrupt):  # noqa: PT012
            timer.start()
            client.worker()
            time.sleep(10)
        assert len(children()) <= before


def test_a_dump_that_has_arrived_is_ready_while_another_thread_waits_for_the_next():
    printed: queue.SimpleQueue[events.Event] = queue.SimpleQueue()
    waits = threading.Event()

    class Stream:
        def begin(self) -> None: ...

        def cancel(self) -> None: ...

        def next(self, timeout: float | None = None) -> events.Event:
            if timeout is None and printed.empty():
                waits.set()
            return printed.get(timeout=timeout) if timeout != 0 else printed.get_nowait()

    arriving = texts.StreamedTexts(Stream(), 2, again=Stream)
    printed.put(events.Printed(0, Content("a")))
    assert arriving.content(0).text == "a"
    threading.Thread(target=arriving.content, args=[1], daemon=True).start()
    assert waits.wait(10)
    assert (arriving.ready(0), arriving.ready(1)) == (True, False)
    printed.put(events.Printed(1, Content("b")))
    assert arriving.content(1).text == "b"


def test_a_worker_that_is_gone_leaves_no_descriptor():
    client.shutdown()
    before = descriptors()
    for _ in range(3):
        worker = client.worker()
        worker.process.kill()
        assert worker.over.wait(10)
    client.shutdown()
    assert descriptors() <= before


def test_what_a_worker_prints_is_not_kept_for_ever(tmp_path):
    """Its log is a file in memory: only the end is ever read."""
    noisy = tmp_path / "noisy"
    noisy.write_text("#!/bin/sh\nhead -c 5000000 /dev/zero > /proc/$PPID/fd/2; cat\n")
    noisy.chmod(0o755)
    client.shutdown()
    for _ in range(3):
        irwidget.lower("func.func @f() { return }", to="raw_ir", pipeline=f"user-tool {noisy}")
    irwidget.lower("func.func @f() { return }", to="raw_ir")
    log = os.stat(f"/proc/{client.worker().process.pid}/fd/2")
    assert log.st_size < 1 << 20


def test_a_limit_of_a_container_is_heeded(tmp_path, monkeypatch):
    groups, mounted = tmp_path / "cgroup", tmp_path / "fs"
    inner = mounted / "memory" / "a" / "b"
    inner.mkdir(parents=True)
    (inner / "memory.limit_in_bytes").write_text("9223372036854771712\n")
    (inner.parent / "memory.limit_in_bytes").write_text("3000\n")
    (mounted / "pod").mkdir()
    (mounted / "pod" / "memory.max").write_text("max\n")
    (mounted / "memory.max").write_text("5000\n")
    (tmp_path / "memory.max").write_text("7\n")  # of no group
    groups.write_text("5:cpu,cpuacct:/x\n4:memory:/a/b\n0::/pod\n")
    assert sorted(processes.cgroup_limits(groups, mounted)) == [3000, 5000, 9223372036854771712]
    groups.write_text("0::/of/the/host\n")
    assert processes.cgroup_limits(groups, mounted) == [5000]
    assert processes.cgroup_limits(tmp_path / "none", mounted) == []
    monkeypatch.setattr(processes, "cgroup_limits", lambda: [1 << 62, 4000])
    assert processes.memory_limit() == 3000
