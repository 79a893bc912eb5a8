"""What importing costs."""

import ast
import subprocess
import sys
from graphlib import TopologicalSorter
from pathlib import Path

import irwidget


def _modules_after(code):
    script = f"{code}\nimport sys\nprint(*sys.modules)"
    ran = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    return set(ran.stdout.split())


def test_import_is_light():
    loaded = _modules_after("import irwidget")
    assert not loaded & {"torch", "torch_mlir", "numpy", "IPython", "anywidget", "ipywidgets", "llvmlite", "triton"}


def test_the_worker_needs_no_torch():
    loaded = _modules_after("import irwidget.toolchain.worker as w, irwidget.toolchain.mlir as m\nm.new_context()")
    assert "torch_mlir" in loaded
    assert "torch" not in loaded


def test_ir_text_is_lowered_without_torch(tmp_path):
    (tmp_path / "a.mlir").write_text("module {\n}\n")
    loaded = _modules_after(f"from irwidget import cli\ncli.main(['lower', {str(tmp_path / 'a.mlir')!r}, '--json'])")
    assert "irwidget.frontends.pytorch" in loaded  # its IR types are options that the command line has
    assert not loaded & {"torch", "triton", "helion", "IPython"}


ROOT = Path(irwidget.__file__).parent
MODULES = {
    ".".join(("irwidget", *path.relative_to(ROOT).with_suffix("").parts)).removesuffix(".__init__"): path
    for path in ROOT.rglob("*.py")
}


def named(path: Path) -> set[str]:
    """Every module of irwidget that a file imports, in functions and for the type checker, too."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            of = {alias.name: f"{node.module}.{alias.name}" for alias in node.names}
            found |= {one if one in MODULES else node.module for one in of.values()}
    return found & MODULES.keys()


BELOW = tuple(
    f"irwidget.{room}."
    for room in ("trace", "toolchain", "registry", "checking", "frontends", "helion", "spyre", "inductor")
)
ABOVE = tuple(f"irwidget.{room}" for room in ("views", "editor", "sweeps", "lowering", "magic", "cli", "commands"))
"""What nothing below imports."""


def test_imports_go_one_way():
    """The modules of irwidget have an order in which each imports only what comes before it."""
    graph: dict[str, set[str]] = {}
    for name, path in MODULES.items():
        graph[name] = named(path) - {name}
    TopologicalSorter(graph).prepare()
    for name, imported in graph.items():
        if name.startswith(BELOW):
            assert not {one for one in imported if one.startswith(ABOVE)}, name


def test_a_result_does_not_know_its_view():
    for part in ("lowering.py", "result.py", "display.py", "helion", "spyre", "frontends", "checking", "toolchain"):
        for path in [ROOT / part] if part.endswith(".py") else (ROOT / part).rglob("*.py"):
            assert not {module for module in named(path) if module.startswith("irwidget.views")}, path


def test_every_public_name_is_there():
    for name in irwidget.__all__:
        assert getattr(irwidget, name) is not None
