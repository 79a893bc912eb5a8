"""torch-mlir by path: builds of it, whose libraries and files are another's in places, really imported and run."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest
import torch

import irwidget
from irwidget import cli
from irwidget.errors import UnsupportedError, UsageError
from irwidget.toolchain import lock
from irwidget.toolchains import environments
from tests.toolchains.conftest import built, linked

A, B = torch.ones(2, 8), torch.ones(8, 3)
TO = "linalg_on_tensors_mlir"
BUILD = "LLVM 24.0.0git 0123456789ab"
TEXT = "func.func @f(%a: i32) -> i32 {\n  %0 = arith.addi %a, %a : i32\n  return %0 : i32\n}\n"

_BY_ITS_OWN_PYTHON = """
import json, sys
sys.path.insert(0, sys.argv[1])
from torch_mlir import ir, passmanager
from torch_mlir.dialects import torch
assert ir.__file__.startswith(sys.argv[1])
context = ir.Context()
torch.register_dialect(context)
texts = []
for before, pipeline in json.load(sys.stdin):
    module = ir.Module.parse(before, context=context)
    passmanager.PassManager.parse(pipeline, context=context).run(module.operation)
    texts.append(str(module))
print(json.dumps(texts))
"""


class Net(torch.nn.Module):
    def forward(self, a, b):
        return torch.relu(a @ b)


@pytest.fixture(scope="module")
def here():
    return irwidget.lower(Net(), A, B, to=TO)


@pytest.fixture(scope="module")
def there(other_torch_mlir):
    return irwidget.lower(Net(), A, B, to=TO, toolchain=str(other_torch_mlir), check=True)


def test_the_build_says_what_it_is(there, other_torch_mlir):
    assert environments.find(str(other_torch_mlir)).versions() == {"torch-mlir": BUILD}
    assert (there.toolchain, there.tools["torch-mlir"]) == (str(other_torch_mlir), BUILD)
    assert str(there.check).startswith("equal to eager PyTorch")


def test_every_dump_is_what_the_build_makes_by_its_own_python(there, other_torch_mlir):
    pipelines = [re.search("--pass-pipeline='(.*)'$", dump.pipeline)[1] for dump in there.dumps[1:]]
    work = json.dumps([(dump.text, one) for dump, one in zip(there.dumps, pipelines, strict=False)])
    command = [sys.executable, "-I", "-c", _BY_ITS_OWN_PYTHON, str(other_torch_mlir)]
    ran = subprocess.run(command, input=work, capture_output=True, text=True, check=True)
    assert json.loads(ran.stdout) == [dump.text for dump in there.dumps[1:]]


def test_the_first_pass_that_differs(here, there):
    found = irwidget.compare(here, there)
    assert [(pair.name, pair.renamed, pair.state) for pair in found.passes if pair.renamed or pair.state != "same"] == [
        ("torch-decompose-complex-ops", "torch-decompose-complex-opz", "same"),
        ("convert-torch-to-linalg", "", "differs"),
    ]
    assert found.first.name == "convert-torch-to-linalg"
    assert found.ends_the_same
    assert f"torch-mlir: {here.tools['torch-mlir']} and {BUILD}" in str(found)


def test_versus_a_path(other_torch_mlir, tmp_path, capsys):
    file = tmp_path / "net.py"
    file.write_text(
        "import torch\nclass Net(torch.nn.Module):\n    def forward(self, a, b):\n        return torch.relu(a @ b)\n"
        "Net()(torch.ones(2, 8), torch.ones(8, 3))\n"
    )
    assert cli.main(["lower", str(file), "--to", TO, "--versus", str(other_torch_mlir)]) == 0
    assert "they first differ after convert-torch-to-linalg" in capsys.readouterr().out


def test_what_goes_on_runs_in_the_build(there):
    edited = there.edit(12).run()
    assert edited.tools["torch-mlir"] == BUILD
    assert [dump.text for dump in edited.dumps[1:]] == [dump.text for dump in there.dumps[13:]]
    again = there.edit(0).run()
    assert "torch-decompose-complex-opz" in [dump.name for dump in again.dumps]
    reduced = there.reduce(lambda text: "linalg.matmul" in text, seconds=5)
    assert (reduced.operations, reduced.tools["torch-mlir"]) == (3, BUILD)


def test_a_pass_that_a_build_lacks_is_named(tmp_path):
    names = (
        b"torch-backend-to-linalg-on-tensors-backend-pipeline",
        b"torch-backend-to-linalg-on-tensors-backend-pipelinx",
    )
    folder = built(tmp_path, (b"\0%s\0" % names[0], b"\0%s\0" % names[1]))
    with pytest.raises(UsageError, match=f"MLIR has no pass '{names[0].decode()}'") as caught:
        irwidget.lower(Net(), A, B, to=TO, toolchain=str(folder))
    assert caught.value.__notes__ == [f"The toolchain is {folder}"]
    assert caught.value.lowering.dumps[-1].name == "canonicalize"  # what it has is shown


def test_a_build_without_stablehlo_lowers_what_it_can(tmp_path):
    place = Path(str(metadata.distribution("torch-mlir").locate_file("torch_mlir/_mlir_libs")))
    (library,) = place.glob("_stablehlo.*")
    folder = linked("torch_mlir", tmp_path, f"torch_mlir/_mlir_libs/{library.name}", None, "")
    low = irwidget.lower(Net(), A, B, to=TO, toolchain=str(folder))
    assert low.dumps[-1].name == "torch-verify-linalg-on-tensors-backend-contract"


def test_an_importer_whose_names_moved_says_so_and_texts_run(tmp_path):
    name = "torch_mlir/extras/fx_importer.py"
    text = Path(str(metadata.distribution("torch-mlir").locate_file(name))).read_text()
    moved = linked("torch_mlir", tmp_path, name, text.replace("graph_node_importer_cls", "importer_cls"), "1.0")
    with pytest.raises(
        UnsupportedError, match=r"torch-mlir's importer in .* has no FxImporter\(graph_node_importer_cls="
    ):
        irwidget.lower(Net(), A, B, to=TO, toolchain=str(moved))
    low = irwidget.lower(TEXT, to="raw_ir", pipeline="mlir-opt --cse", toolchain=str(moved))
    assert ([dump.name for dump in low.dumps], low.tools["torch-mlir"]) == (["input", "cse"], "1.0")


def test_what_a_build_lacks_is_not_taken_from_what_is_installed(tmp_path):
    for number, (name, said) in enumerate(
        {
            "extras/fx_importer.py": r"torch-mlir's importer in .* has no torch_mlir\.extras\.fx_importer",
            "passmanager.py": r"torch-mlir 2\.0 has no torch_mlir\.passmanager",
        }.items()
    ):
        folder = linked("torch_mlir", tmp_path / str(number), f"torch_mlir/{name}", None, "2.0")
        with pytest.raises(UnsupportedError, match=said):
            irwidget.lower(Net(), A, B, to=TO, toolchain=str(folder))


def test_a_build_that_a_hook_of_an_environment_finds(other_torch_mlir, tmp_path):
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "env")], check=True)
    site = next((tmp_path / "env" / "lib").glob("python*/site-packages"))
    with pytest.raises(UsageError, match="bin/python has no packages: all would be what this process imports"):
        environments.find(str(tmp_path / "env"))
    info = site / "torch_mlir-9.9.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: torch_mlir\nVersion: 9.9\n")
    with pytest.raises(UnsupportedError, match=r"torch-mlir 9\.9 is not in .*: Python imports what is in .*the folder"):
        irwidget.lower(TEXT, to="raw_ir", toolchain=str(tmp_path / "env"))
    (site / "hook.py").write_text(
        "import sys\nfrom importlib.machinery import ModuleSpec\nclass Finder:\n    @classmethod\n"
        "    def find_spec(cls, name, path=None, target=None):\n        if name == 'torch_mlir':\n"
        "            spec = ModuleSpec(name, None, is_package=True)\n"
        f"            spec.submodule_search_locations = [{str(other_torch_mlir / 'torch_mlir')!r}]\n"
        "            return spec\nsys.meta_path.append(Finder)\n"
    )
    (site / "hook.pth").write_text("import hook\n")
    assert environments.find(str(tmp_path / "env")).folders == (str(site), str(other_torch_mlir))
    low = irwidget.lower(Net(), A, B, to=TO, toolchain=str(tmp_path / "env"))
    assert "torch-decompose-complex-opz" in [dump.name for dump in low.dumps]
    assert low.tools["torch-mlir"] == "9.9"


def test_a_path_beside_the_packages_says_where_they_are(other_torch_mlir, tmp_path):
    with pytest.raises(UsageError, match=rf"is no environment: .*Did you mean {re.escape(str(other_torch_mlir))}\?"):
        environments.find(str(other_torch_mlir / "torch_mlir"))
    place = tmp_path / "build/tools/torch-mlir/python_packages/torch_mlir"
    place.mkdir(parents=True)
    (place / "torch_mlir").symlink_to(other_torch_mlir / "torch_mlir")
    for path in (tmp_path, tmp_path / "build"):
        with pytest.raises(UsageError, match=rf"Did you mean {re.escape(str(place))}\?"):
            environments.find(str(path))
    assert environments.find(str(place)).versions() == {"torch-mlir": BUILD}


def test_a_package_without_a_version_has_not_that_of_the_installed_one(tmp_path):
    folder = linked("llvmlite", tmp_path / "a", "llvmlite/__init__.py", "__version__ = '0.7.0+x'\n", "")
    assert lock.installed("llvmlite", [str(folder)]) == "0.7.0"
    folder = linked("llvmlite", tmp_path / "b", "llvmlite/__init__.py", "", "")
    assert lock.installed("llvmlite", [str(folder)]) == lock.UNVERSIONED
    assert lock.installed("triton", [str(folder)]) == metadata.version("triton").partition("+")[0]


def test_a_module_that_lowers_as_it_is_imported_says_so(other_torch_mlir, tmp_path, monkeypatch):
    (tmp_path / "lowers.py").write_text(
        f"import torch, irwidget\nclass Net(torch.nn.Module):\n    def forward(self, x):\n        return x\n"
        f"made = irwidget.lower(Net(), torch.ones(2), to={TO!r}, toolchain={str(other_torch_mlir)!r})\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(UsageError, match="lowers with a toolchain while the process of that toolchain imports it"):
        import lowers  # noqa: F401
