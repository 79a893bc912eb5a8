"""Settings of pip's that stand in the way of a toolchain: the real pip, a wheel of ours, and no network."""

from __future__ import annotations

import os
import sys
import zipfile

import pytest

from irwidget.errors import ToolError
from irwidget.toolchains import environments, pip_settings, releases


@pytest.fixture(scope="module")
def wheels(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheels")
    info = "smallest-1.0.dist-info"
    with zipfile.ZipFile(folder / "smallest-1.0-py3-none-any.whl", "w") as wheel:
        wheel.writestr("smallest/__init__.py", "")
        wheel.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: smallest\nVersion: 1.0\n")
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: us\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{info}/RECORD", "".join(f"{name},,\n" for name in [*wheel.namelist(), f"{info}/RECORD"]))
    return folder


@pytest.fixture(autouse=True)
def _only_these(wheels, monkeypatch, tmp_path):
    for name in [name for name in os.environ if name.startswith("PIP_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_INDEX_URL", wheels.as_uri())
    monkeypatch.setenv("PIP_FIND_LINKS", str(wheels))
    monkeypatch.setenv(environments.WHERE, str(tmp_path / "cache"))


def _left():
    return [path.name for path in environments.folder().iterdir() if not path.name.endswith(".lock")]


def test_what_stands_in_nobodys_way(monkeypatch, tmp_path):
    for name, value in {"TARGET": str(tmp_path / "other"), "USER": "0", "REQUIRE_HASHES": "no"}.items():
        monkeypatch.setenv(f"PIP_{name}", value)
    assert environments.find("smallest==1.0").versions() == {"smallest": "1.0"}


@pytest.mark.parametrize(
    ("name", "value", "blamed"),
    [
        ("REQUIRE_HASHES", "1", "PIP_REQUIRE_HASHES=1"),
        ("USER", "1", "PIP_USER=1"),
        ("PREFIX", "{}/prefix", "PIP_PREFIX={}/prefix"),
        ("ROOT", "{}/root", "PIP_ROOT={}/root"),
        ("DRY_RUN", "true", "PIP_DRY_RUN=true"),
        ("CONSTRAINT", "{}/constraint.txt", "PIP_CONSTRAINT={}/constraint.txt"),
        ("CONSTRAINT", "{}/none.txt", "PIP_CONSTRAINT={}/none.txt"),
        ("REQUIREMENT", "{}/none.txt", "PIP_REQUIREMENT={}/none.txt"),
        ("PYTHON", "/no/such/python", "PIP_PYTHON=/no/such/python"),
        ("TIMEOUT", "soon", "PIP_TIMEOUT=soon"),
    ],
)
def test_a_setting_that_stands_in_the_way_is_named(monkeypatch, tmp_path, name, value, blamed):
    (tmp_path / "constraint.txt").write_text("smallest==2.0\n")
    monkeypatch.setenv(f"PIP_{name}", value.format(tmp_path))
    with pytest.raises(ToolError) as caught:
        environments.find("smallest==1.0")
    said = f"The cause is likely your setting of pip {blamed.format(tmp_path)}. Next step: unset PIP_{name}"
    assert said in str(caught.value)
    assert _left() == []
    assert environments.cached() == []


def test_an_index_that_has_it_not(monkeypatch, tmp_path):
    monkeypatch.delenv("PIP_FIND_LINKS")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    with pytest.raises(ToolError, match=r"settings of pip: PIP_.*; unset PIP_"):
        environments.find("smallest==1.0")
    monkeypatch.delenv("PIP_NO_INDEX")
    monkeypatch.setenv("PIP_INDEX_URL", f"{tmp_path.as_uri()}/none")
    with pytest.raises(ToolError, match=rf"your setting of pip PIP_INDEX_URL=file://{tmp_path}/none\. Next"):
        environments.find("smallest==1.0")
    with pytest.raises(ToolError, match=r"pip knows no releases of smallest .*PIP_INDEX_URL=.*\. Name them: versions="):
        releases.of("smallest")
    assert _left() == []


def test_settings_of_files_and_what_variables_say_instead(monkeypatch, tmp_path):
    file = tmp_path / "pip.conf"
    file.write_text("[global]\nuser = false\nquiet = 2\n[install]\nuser = true\n[freeze]\nuser = false\n")
    monkeypatch.setenv("PIP_CONFIG_FILE", str(file))
    with pytest.raises(ToolError, match=r"pip install\.user=true\. Next step: pip config unset install\.user, or"):
        environments.find("smallest==1.0")
    monkeypatch.setenv("PIP_USER", "0")
    assert environments.find("smallest==1.0").folders
    file.write_text("[global]\nindex-url = https://me:secret@localhost:9/simple\n")
    monkeypatch.delenv("PIP_INDEX_URL")
    assert "global.index-url=https://***@localhost:9/simple" in pip_settings.blamed("from versions: none")
    file.write_text("no section = 1\n")
    with pytest.raises(ToolError, match=r"pip cannot read its settings \(.*\)\. Next step: pip config debug"):
        environments.find("smallest==1.1")
    assert _left() == [environments.cache_name(environments.parse("smallest==1.0"))]


@pytest.mark.skipif(sys.prefix == sys.base_prefix, reason="this Python is in no virtual environment")
def test_outside_of_a_virtual_environment(monkeypatch):
    monkeypatch.setenv("PIP_REQUIRE_VIRTUALENV", "1")
    monkeypatch.setattr(sys, "executable", sys._base_executable)
    with pytest.raises(ToolError, match=r"PIP_REQUIRE_VIRTUALENV=1\. Next step: unset PIP_REQUIRE_VIRTUALENV"):
        environments.find("smallest==1.0")
    assert _left() == []


def test_nothing_is_blamed_for_what_it_has_nothing_to_do_with():
    assert pip_settings.blamed("ERROR: No space left on device") == ""


@pytest.mark.parametrize(
    ("name", "value", "said", "blamed"),
    [
        ("PROXY", "http://me:secret@p:1", "WARNING: ProxyError", "PIP_PROXY=http://***@p:1"),
        ("CERT", "no.pem", "ERROR: Could not find a suitable TLS bundle", "PIP_CERT=no.pem"),
        ("CLIENT_CERT", "no.pem", "invalid certificate", "PIP_CLIENT_CERT=no.pem"),
        ("PLATFORM", "any", "ERROR: x.whl is not a supported wheel", "PIP_PLATFORM=any"),
        ("PYTHON_VERSION", "3", "ERROR: set --only-binary=:all:", "PIP_PYTHON_VERSION=3"),
        ("TIMEOUT", "soon", "option timeout: invalid float value", "PIP_TIMEOUT=soon"),
        ("TIMEOUT", "soon", "option retries: invalid integer value", ""),
        ("SRC", "/a/b/c", "ERROR: /a/b/c is no folder", "PIP_SRC=/a/b/c"),
        ("SRC", "/a/b/c", "Looking in /a/b/c\nERROR: no such release", ""),
        ("SRC", "/a/b", "ERROR: /a/b/c is no folder", ""),
        ("USER", "off", "ERROR: Can not combine", ""),
        ("CONFIG_FILE", os.devnull, f"ERROR: config-file is not valid: {os.devnull}", ""),
    ],
)
def test_what_pip_says_tells_the_setting(monkeypatch, name, value, said, blamed):
    monkeypatch.delenv("PIP_INDEX_URL")
    monkeypatch.setenv(f"PIP_{name}", value)
    causes = [str(one) for one in pip_settings._of_variables().values() if one.blamed(said)]
    assert causes == ([blamed] if blamed else [])


def test_what_is_for_an_installation_comes_before_what_is_for_all(monkeypatch, tmp_path):
    file = tmp_path / "pip.conf"
    file.write_text("[install]\nuser = yes\n[global]\nuser = no\nproxy = http://p:1\n")
    monkeypatch.setenv("PIP_CONFIG_FILE", str(file))
    monkeypatch.setenv("PIP_QUIET", "3")
    monkeypatch.delenv("PIP_INDEX_URL")
    assert pip_settings.blamed("ERROR: Can not combine\nProxyError") == (
        "The cause is likely one of your settings of pip: global.proxy=http://p:1, install.user=yes. Next step: "
        "pip config unset global.proxy; pip config unset install.user, or PIP_CONFIG_FILE=/dev/null for once"
    )
