"""What importing costs."""

import subprocess
import sys


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


def test_every_public_name_is_there():
    import irwidget

    for name in irwidget.__all__:
        assert getattr(irwidget, name) is not None
