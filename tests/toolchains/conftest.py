"""Environments made without a network: folders of links to what is installed, of which one file is another."""

from __future__ import annotations

from importlib import metadata
from pathlib import Path

import pytest

from irwidget.toolchains import environments, process


@pytest.fixture(scope="session", autouse=True)
def _processes_end():
    yield
    process.end_all()


@pytest.fixture(autouse=True)
def _own_cache(tmp_path_factory, monkeypatch):
    monkeypatch.setenv(environments.WHERE, str(tmp_path_factory.getbasetemp() / "toolchains"))


def linked(package: str, into: Path, changed: str, text: str | bytes | None, version: str) -> Path:
    """A folder with a package of links to the installed one, but for a file, and of another version.

    `text` None: the file is not there. `version` empty: nothing says one, as in a folder that a build leaves.
    """
    files = metadata.distribution(package)
    source = Path(str(files.locate_file(package)))
    for path in sorted(source.iterdir()):
        _link(path, into / package / path.name, changed.split("/")[1:], text)
    if not version:
        return into
    info = into / f"{package}-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: {version}\n")
    (info / "entry_points.txt").write_text(files.read_text("entry_points.txt") or "")
    return into


def _link(source: Path, target: Path, changed: list[str], text: str | bytes | None) -> None:
    if source.name == "__pycache__":
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    if not changed or source.name != changed[0]:
        target.symlink_to(source)
    elif len(changed) > 1:
        for path in sorted(source.iterdir()):
            _link(path, target / path.name, changed[1:], text)
    elif text is not None:
        target.write_bytes(text if isinstance(text, bytes) else text.encode())


@pytest.fixture(scope="session")
def other_triton(tmp_path_factory):
    """A Triton whose TTGIR stage lacks its first coalescing pass, as if a release had dropped it."""
    compiler = Path(str(metadata.distribution("triton").locate_file("triton/backends/nvidia/compiler.py")))
    text = compiler.read_text()
    dropped = "        passes.ttgpuir.add_coalesce(pm)\n"
    assert dropped in text
    folder = tmp_path_factory.mktemp("other-triton")
    return linked("triton", folder, "triton/backends/nvidia/compiler.py", text.replace(dropped, "", 1), "3.8.99")


@pytest.fixture(scope="session")
def bare_triton(tmp_path_factory):
    """A Triton without its module of settings, as it was before 3.4."""
    return linked("triton", tmp_path_factory.mktemp("bare-triton"), "triton/knobs.py", None, "3.3.99")


_LIBRARY = "torch_mlir/_mlir_libs/libTorchMLIRAggregateCAPI.so"


def built(into: Path, *changes: tuple[bytes, bytes]) -> Path:
    """What a build of torch-mlir leaves, whose library has other names in the place of some."""
    data = Path(str(metadata.distribution("torch-mlir").locate_file(_LIBRARY))).read_bytes()
    for old, new in changes:
        assert len(old) == len(new)
        assert old in data
        data = data.replace(old, new)
    return linked("torch_mlir", into, _LIBRARY, data, "")


@pytest.fixture(scope="session")
def other_torch_mlir(tmp_path_factory):
    """A build of torch-mlir of another commit: a pass has another name, another one writes another message."""
    return built(
        tmp_path_factory.mktemp("other-torch-mlir"),
        (b"mismatching contracting dimension", b"mismatching contracted  dimension"),
        (b"torch-decompose-complex-ops", b"torch-decompose-complex-opz"),
        (b"10dbfc4863c9", b"0123456789ab"),
    )
