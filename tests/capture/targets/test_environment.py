"""Environments without a download: a stand-in for uv plays the package manager."""

import shutil
import sys
from pathlib import Path

import pytest

from jaxscope.__main__ import main
from jaxscope.capture.targets import environment
from jaxscope.capture.targets.environment import TargetError


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("JAXSCOPE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "targets"


def fake_uv(folder: Path, monkeypatch: pytest.MonkeyPatch, download: str = "") -> None:
    """`uv venv` makes the interpreter, `uv pip install` runs this shell code."""
    folder.mkdir()
    uv = folder / "uv"
    uv.write_text(
        "#!/bin/sh\n"
        f'if [ "$1" = venv ]; then mkdir -p "$4/bin"; ln -s {sys.executable} "$4/bin/python"; '
        f"exit 0; fi\n{download}\n"
    )
    uv.chmod(0o755)
    monkeypatch.setattr(environment.shutil, "which", lambda name: str(uv))


def test_nothing_is_installed_at_first(cache: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["targets"]) == 0
    said = capsys.readouterr().out
    assert "tpu:v5e" in said
    assert "not installed: `install tpu` downloads about 213 MB" in said
    assert str(cache) in said


def test_an_installation_states_its_size_and_is_not_made_without_a_yes(
    cache: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("builtins.input", lambda prompt: "")
    assert main(["targets", "install", "tpu"]) == 1
    said = capsys.readouterr().out
    assert "a download of about 213 MB, 745 MB on disk" in said
    assert "libtpu==" in said
    assert said.endswith("Nothing was downloaded.\n")
    assert not cache.exists()


def test_without_a_terminal_the_option_is_named(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_input(prompt: str) -> str:
        raise EOFError

    monkeypatch.setattr("builtins.input", no_input)
    assert main(["targets", "install", "gpu"]) == 1
    assert "`jaxscope targets install gpu --yes`" in capsys.readouterr().out


def test_an_environment_is_installed_listed_and_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    fake_uv(tmp_path / "bin", monkeypatch)
    assert main(["targets", "install", "tpu", "--yes"]) == 0
    made = environment.environment("tpu")
    assert made.installed
    assert not environment.environment("gpu").installed
    assert main(["targets", "install", "tpu"]) == 0  # asks nothing
    capsys.readouterr()
    assert main(["targets", "remove", "tpu"]) == 0
    assert capsys.readouterr().out.startswith("Removed the TPU compiler: ")
    assert not made.installed
    assert main(["targets", "remove", "tpu"]) == 0
    assert capsys.readouterr().out == "There is no TPU compiler.\n"


@pytest.mark.parametrize(
    ("download", "said"),
    [
        ("echo 'error: dns error: no such host' >&2; exit 1", "Is there a network?"),
        ("echo 'OSError: No space left on device' >&2; exit 1", "the disk is full."),
        ("echo hello; echo 'ERROR: no wheel' >&2; exit 2", "ERROR: no wheel."),
        ("exit 3", "it gave no reason."),
    ],
)
def test_a_failed_download_is_a_sentence_and_leaves_nothing(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    cache: Path,
    download: str,
    said: str,
) -> None:
    fake_uv(tmp_path / "bin", monkeypatch, download)
    assert main(["targets", "install", "tpu", "--yes"]) == 1
    assert said in capsys.readouterr().err
    assert list(cache.iterdir()) == []


def test_a_full_disk_is_noticed_before_the_download(monkeypatch: pytest.MonkeyPatch) -> None:
    usage = shutil.disk_usage("/")._replace(free=1_000_000)
    monkeypatch.setattr(environment.shutil, "disk_usage", lambda path: usage)
    with pytest.raises(TargetError, match=r"has 1 MB free\. Free some, or set JAXSCOPE_CACHE"):
        environment.install("tpu")


def test_a_cache_that_cannot_be_written_is_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("JAXSCOPE_CACHE", str(tmp_path / "file"))
    with pytest.raises(TargetError, match="Set JAXSCOPE_CACHE to a directory of yours"):
        environment.install("tpu")


def test_an_unknown_compiler_is_refused() -> None:
    with pytest.raises(TargetError, match="choose `tpu` or `gpu`"):
        environment.environment("npu")


def test_the_version_of_the_compiler_is_that_of_the_installed_jax() -> None:
    [libtpu] = environment.requirements("tpu")
    assert libtpu.startswith("libtpu==")
