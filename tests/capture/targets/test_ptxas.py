"""SASS where NVIDIA's programs are missing or fail: shell scripts play them."""

from pathlib import Path

import pytest

from jaxscope.capture.targets import environment, ptxas

PTX = ".version 8.0\n.target sm_90a\n.visible .entry f()\n{\nret;\n}\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("JAXSCOPE_CACHE", str(tmp_path))
    made = environment.environment("gpu").packages / "nvidia" / "cu13" / "bin"
    made.mkdir(parents=True)
    return made


def script(path: Path, code: str) -> None:
    path.write_text(f"#!/bin/sh\n{code}\n")
    path.chmod(0o755)


def test_a_program_that_is_missing_names_the_command(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")  # where a CUDA toolkit may have both
    with pytest.raises(ValueError, match="SASS needs ptxas: run `%jaxtargets install gpu`"):
        ptxas.assembled([PTX])
    script(folder / "ptxas", "exit 0")
    with pytest.raises(ValueError, match="SASS needs nvdisasm"):
        ptxas.assembled([PTX])


@pytest.mark.parametrize(
    ("code", "said"),
    [
        (
            "echo 'ptxas fatal: Unresolved extern g' >&2; exit 255",
            "ptxas failed: ptxas fatal: Unre",
        ),
        ("exit 7", "ptxas failed: 7"),
        ("sleep 5", "ptxas gave no answer within 200 ms"),
    ],
)
def test_a_failing_ptxas_is_a_sentence(
    folder: Path, monkeypatch: pytest.MonkeyPatch, code: str, said: str
) -> None:
    monkeypatch.setattr(ptxas, "LIMIT_S", 0.2 if "sleep" in code else 20)
    script(folder / "ptxas", f"exec {code}" if "sleep" in code else code)
    script(folder / "nvdisasm", "exit 0")
    with pytest.raises(ValueError, match=said):
        ptxas.assembled([PTX])


def test_a_program_that_cannot_be_started_is_a_sentence(folder: Path) -> None:
    for name in ("ptxas", "nvdisasm"):
        (folder / name).write_text("not a program")
    with pytest.raises(ValueError, match="ptxas could not be started"):
        ptxas.assembled([PTX])


def test_a_failing_disassembler_and_a_program_without_kernels_are_sentences(folder: Path) -> None:
    script(folder / "ptxas", "exit 0")
    script(folder / "nvdisasm", "echo 'nvdisasm fatal: no cubin' >&2; exit 1")
    with pytest.raises(ValueError, match="nvdisasm failed: nvdisasm fatal: no cubin"):
        ptxas.assembled([PTX])
    with pytest.raises(ValueError, match="no kernel of its own"):
        ptxas.assembled([])
