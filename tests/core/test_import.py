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


def test_imports_go_one_way():
    """The packages and modules of irwidget have an order in which each imports only what comes after it."""
    root = Path(irwidget.__file__).parent
    imported: dict[str, set[str]] = {}
    for path in root.rglob("*.py"):
        name = path.relative_to(root).parts[0].removesuffix(".py")
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "irwidget":
                of_root = node.module == "irwidget"
                found = {alias.name for alias in node.names} if of_root else {node.module.split(".")[1]}
                imported.setdefault(name, set()).update(found - {name})
    order = list(TopologicalSorter(imported).static_order())
    assert order.index("trace") < order.index("registry") < order.index("views") < order.index("editor")
    assert order.index("frontends") < order.index("lowering") < order.index("magic")


def test_a_result_does_not_know_its_view():
    root = Path(irwidget.__file__).parent
    for part in ("lowering.py", "result.py", "display.py", "helion", "spyre", "frontends", "checking", "toolchain"):
        for path in [root / part] if part.endswith(".py") else (root / part).rglob("*.py"):
            named = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.ImportFrom)]
            modules = {f"{node.module}.{alias.name}" for node in named for alias in node.names}
            assert not {module for module in modules if module.startswith("irwidget.views")}, path


def test_every_public_name_is_there():
    for name in irwidget.__all__:
        assert getattr(irwidget, name) is not None
