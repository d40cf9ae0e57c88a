"""SASS of a program for a GPU: its PTX, assembled and disassembled by NVIDIA's own programs."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from jaxscope import words
from jaxscope.analysis.machine_code.gpu import ptxas_figures, sass_functions
from jaxscope.analysis.machine_code.llvm import ListedFunction
from jaxscope.capture.targets import environment

LIMIT_S = 120.0
_ARCHITECTURE = re.compile(r"^\.target (sm_\w+)", re.MULTILINE)


def assembled(modules: Iterable[str]) -> tuple[ListedFunction, ...]:
    """The functions of these PTX modules, with registers, spills and shared memory.

    Raises ValueError where one of the programs is missing, fails, or does not answer.
    """
    folder = environment.environment("gpu").packages / "nvidia"
    ptxas, nvdisasm = [
        next((str(path) for path in folder.glob(f"cu*/bin/{name}")), None) or shutil.which(name)
        for name in ("ptxas", "nvdisasm")
    ]
    if ptxas is None or nvdisasm is None:
        missing = "ptxas" if ptxas is None else "nvdisasm"
        raise ValueError(f"SASS needs {missing}: run `%jaxtargets install gpu`")
    with tempfile.TemporaryDirectory(prefix="jaxscope_sass_") as made:
        here = Path(made)
        files: list[str] = []
        architecture = ""
        for number, text in enumerate(modules):
            (here / f"{number}.ptx").write_text(text)
            files.append(f"{number}.ptx")
            architecture = architecture or (_ARCHITECTURE.findall(text) or [""])[0]
        if not files:
            raise ValueError("the program has no kernel of its own")
        said = _run([ptxas, f"-arch={architecture}", "-v", *files, "-o", "all.cubin"], here).stderr
        listing = _run([nvdisasm, "-c", "all.cubin"], here).stdout
    figures = ptxas_figures(said)
    return tuple([
        replace(one, figures=tuple(figures[one.name].words())) if one.name in figures else one
        for one in sass_functions(listing)
    ])  # fmt: skip


def _run(command: list[str | Path], folder: Path) -> subprocess.CompletedProcess[str]:
    name = Path(command[0]).name
    try:
        ran = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, errors="replace",
            stdin=subprocess.DEVNULL, timeout=LIMIT_S, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        limit = words.seconds(LIMIT_S)
        raise ValueError(f"{name} gave no answer within {limit}") from None
    except OSError as error:
        raise ValueError(f"{name} could not be started ({error.strerror or error})") from None
    if ran.returncode:
        said = (ran.stderr or ran.stdout).strip().split("\n")[0]
        raise ValueError(f"{name} failed: {words.cut(said or str(ran.returncode), 200)}")
    return ran
