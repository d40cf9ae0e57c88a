"""Every notebook in `demos/`: as it is saved, and executed from top to bottom in a real kernel."""

from __future__ import annotations

import ast
import importlib.util
import re
import sys
import tomllib
import types
from pathlib import Path

import nbformat
import pytest

from tests.paths import ROOT

NOTEBOOKS = sorted((ROOT / "demos").glob("*.ipynb"))
_MOST_BYTES = 1_500_000
_FIRST_LINE = re.compile(
    r"^\w+\([\w()]+\) · (?:\w+:\d+(?:, \w+:\d+)?|\d+ devices \([^)]*\)) · \d", re.M
)
_ENGINES = re.compile(r"\A%%.* --engines ")
_ON_ENGINES = re.compile(r"^Cluster · (\d+) processes · programs: \1 of \1 same", re.M)
_TARGETS = re.compile(r"\A%%.* --target ")
_ON_TARGETS = re.compile(r"^jit\(\w+\) · .*\d targets? compiled, none run", re.M)
_COMPILING = ("%%jaxjit", "%%jaxgrad", "%%jaxvmap", "%%jaxpmap", "%%jaxcompose")
_PAGES = {"01_quickstart": "quickstart.html", "03_devices": "devices.html"}
"""The page that a notebook leaves in `out/`."""
_PLACES = re.compile(r"/(?:tmp|home|root|work|Users|var)/[^\s\"'<>]*|ipykernel_\d+")
_NOISE = re.compile(
    r"\d+%\||^(?:WARNING|INFO|DEBUG|ERROR)[: ]|^[IWE]\d{4} |\b\w*Warning: |\[IPKernelApp\]|\x1b\[",
    re.M,
)
"""Progress bars, lines of loggers (also of XLA's and TensorFlow's), Python's warnings, colors."""
_MAGIC = re.compile(r"%%jaxjit|run_cell_magic\(\s*\"jaxjit\"|%jaxjit |%%?jaxbench ")

pytestmark = pytest.mark.notebook


def _builder() -> types.ModuleType:
    spec = importlib.util.spec_from_file_location(
        "build_notebook", ROOT / "tools/build_notebook.py"
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def code_cells(notebook: nbformat.NotebookNode) -> list[nbformat.NotebookNode]:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def words(cell: nbformat.NotebookNode) -> str:
    """All that the outputs of a cell say in plain text."""
    found: list[str] = []
    for output in cell.outputs:
        found.append(output.get("text", ""))
        found.append(output.get("data", {}).get("text/plain", ""))
        found.extend(output.get("traceback", ()))
    return "\n".join(found)


def problems(notebook: nbformat.NotebookNode) -> list[str]:
    """What a reader of the outputs should not see, each with its cell."""
    found: list[str] = []
    for number, cell in enumerate(code_cells(notebook), 1):
        said = words(cell)
        if any(output.output_type == "error" for output in cell.outputs) or "Traceback" in said:
            at = max(said.find("Traceback"), 0)
            found.append(f"cell {number} failed: {said[at : at + 2000]}")
        first = _ON_ENGINES if _ENGINES.search(cell.source) else _FIRST_LINE
        first = _ON_TARGETS if _TARGETS.search(cell.source) else first
        if cell.source.startswith(_COMPILING) and not first.search(said):
            found.append(f"cell {number} shows no first line: {said[:500]}")
        if "jaxscope could not" in said:
            found.append(f"cell {number} ran without jaxscope: {said[:500]}")
    cells = code_cells(notebook)
    here = [c for c in cells if not (_ENGINES.search(c.source) or _TARGETS.search(c.source))]
    compiles = any(cell.source.startswith("%%jaxjit") for cell in here)
    if compiles and "0 compiles" not in "".join(words(cell) for cell in cells):
        found.append("no cell shows that a run again compiles nothing")
    return found


def test_there_are_demos() -> None:
    assert NOTEBOOKS


def shortened(notebook: str) -> str:
    """The notebook with a part of each time limit and of a matrix: they took most of the time.

    The long limits are those in which a program of PyTorch is compiled.
    """

    def short(limit: re.Match[str]) -> str:
        seconds = int(limit[1])
        return f"--time-limit {seconds / (20 if seconds < 50 else 2):g}"

    return re.sub(r"--time-limit (\d+)", short, notebook.replace("n = 10_000 if", "n = 1_000 if"))


@pytest.mark.kernel
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_demo_runs_from_top_to_bottom(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    copied = tmp_path / path.name
    copied.write_text(shortened(path.read_text(encoding="utf-8")), encoding="utf-8")
    notebook = _builder().execute(copied, tmp_path)
    assert problems(notebook) == []
    if page := _PAGES.get(path.stem):
        assert "<html" in (tmp_path / "out" / page).read_text(encoding="utf-8")


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_saved_demo_can_be_read_without_a_kernel(path: Path) -> None:
    assert path.stat().st_size <= _MOST_BYTES
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    assert problems(notebook) == []
    counts = [cell.execution_count for cell in code_cells(notebook)]
    assert counts == list(range(1, len(counts) + 1)), "run from top to bottom, once"
    text = path.read_text(encoding="utf-8")
    assert _PLACES.findall(text) == []
    for cell in code_cells(notebook):
        if _MAGIC.search(cell.source):
            assert cell.outputs, f"no output was saved for: {cell.source[:60]}"


def noise(notebook: nbformat.NotebookNode) -> list[str]:
    """What libraries have left in the outputs that no cell asked for, each with its cell."""
    found: list[str] = []
    for number, cell in enumerate(code_cells(notebook), 1):
        said = "".join(one.text for one in cell.outputs if one.get("name") == "stderr")
        found += [f"cell {number} wrote to the standard error: {said[:200]}"] if said else []
        lines = [line for line in words(cell).splitlines() if _NOISE.search(line)]
        found += [f"cell {number} shows: {line[:200]}" for line in lines]
    return found


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_saved_demo_has_no_noise_of_libraries(path: Path) -> None:
    assert noise(nbformat.read(path, as_version=4)) == []


@pytest.mark.parametrize(
    "text",
    [
        "  0%|          | 0/4 [00:00<?, ?engine/s]",
        "%px:   0%|   | 0/2",
        "WARNING:tensorflow:AutoGraph could not transform <function timed at 0x7f5464343240>",
        "WARNING: AutoGraph could not transform",
        "W0000 00:00:1 service.cc:145] XLA service",
        "/usr/lib/python3/x.py:3: FutureWarning: soon",
        "UserWarning: donated buffers were not usable",
        "\x1b[31mred",
    ],
)
def test_noise_is_noticed_and_left_out_where_it_passes(text: str) -> None:
    cell = nbformat.v4.new_code_cell("f(x)")
    cell.outputs = [
        nbformat.v4.new_output("display_data", data={"text/plain": text}),
        nbformat.v4.new_output("display_data", data={"text/plain": "Warnings\n  J301  noisy: 3%"}),
    ]
    notebook = nbformat.v4.new_notebook(cells=[cell])
    assert [line.partition(":")[0] for line in noise(notebook)] == ["cell 1 shows"]
    left = noise(_builder().clean(notebook))
    assert (left == []) is ("%|" in text)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_every_link_leads_to_a_file(path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    texts = [cell.source for cell in notebook.cells if cell.cell_type == "markdown"]
    targets = [t for text in texts for t in re.findall(r"\]\(([^)\s#]+)", text) if "://" not in t]
    assert [target for target in targets if not (path.parent / target).exists()] == []


def test_the_first_notebook_says_where_to_go_on() -> None:
    notebook = nbformat.read(NOTEBOOKS[0], as_version=4)
    last = notebook.cells[-1].source
    assert [path.name for path in NOTEBOOKS[1:] if f"]({path.name})" not in last] == []


def imported(path: Path) -> set[str]:
    """Modules that the cells of a notebook need: those inside of `try` may be absent."""
    found: set[str] = set()
    for cell in code_cells(nbformat.read(path, as_version=4)):
        lines = [line for line in cell.source.splitlines() if not line.startswith(("%", "!"))]
        try:
            body = ast.parse("\n".join(lines)).body
        except SyntaxError:  # C in a section of a benchmark
            continue
        for node in body:
            if isinstance(node, ast.Import):
                found |= {name.name.partition(".")[0] for name in node.names}
            elif isinstance(node, ast.ImportFrom):
                found.add(str(node.module).partition(".")[0])
    return found - {*sys.stdlib_module_names, "jaxscope", "numpy"}


def test_the_extra_for_the_notebooks_has_what_they_import() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    needed = [*extras["dependencies"], *extras["optional-dependencies"]["demos"]]
    for extra in re.findall(
        r"[\w-]+", extras["optional-dependencies"]["demos"][0].partition("[")[2]
    ):
        needed += extras["optional-dependencies"][extra]
    packages = {re.split(r"[>\[]", one)[0].removeprefix("dm-") for one in needed}
    modules = set().union(*map(imported, NOTEBOOKS))
    assert {"optax", "flax", "pandas"} <= modules
    assert modules - packages == set()


def saved(stem: str) -> list[nbformat.NotebookNode]:
    return code_cells(nbformat.read(ROOT / "demos" / f"{stem}.ipynb", as_version=4))


def test_the_quickstart_shows_the_findings_that_its_text_speaks_of() -> None:
    cells = saved("01_quickstart")
    printing = next(cell for cell in cells if 'print("loss:", loss)' in cell.source)
    assert "`print` runs while the cell is traced" in words(printing)
    looping = next(cell for cell in cells if "-o unrolled" in cell.source)
    assert "unrolled" in words(looping).partition("Findings")[2]


def test_the_devices_demo_shows_what_its_text_speaks_of() -> None:
    cells = saved("03_devices")
    crossed = next(cell for cell in cells if "-o crossed" in cell.source)
    assert "is gathered before" in words(crossed).partition("Findings")[2]
    wasteful = next(cell for cell in cells if "-o wasteful" in cell.source)
    assert "No input or result is sharded over `model`" in words(wasteful)
    table = next(cell for cell in cells if "compiles of the step" in cell.source)
    assert re.search(r"compiles of the step +1 +1", words(table))
    talk = words(next(cell for cell in cells if cell.source.startswith("talk =")))
    assert len(set(re.findall(r"(\d+) bytes", talk))) == 1


def test_the_log_of_compiles_shows_every_cause_that_its_text_speaks_of() -> None:
    cells = saved("04_why_did_it_compile")
    said = {cell.source.splitlines()[0]: " ".join(words(cell).split()) for cell in cells}
    before, after = said["%%jaxwatch -o before"], said["%%jaxwatch -o after"]
    assert before.startswith("100.0% right after 8 epochs 24 compiles in ")
    assert after.startswith("100.0% right after 8 epochs 2 compiles in ")
    for part in ("step × 16", "rate has 8 different values", "<lambda> × 8", "a new <lambda> each"):
        assert part in before
    reasons = said["%%jaxwatch -o reasons"]
    assert reasons.startswith("15 compiles in ")
    for part in (
        "The shape of x changed: f32[4] → f32[5]",
        "The rank of x changed",
        "The dtype of x changed: f32[4] → i32[4]",
        "changed between a weakly and a strongly typed f32",
        "The static argument n changed: 1 → 2",
        "is now left out",
        "is now passed by keyword",
        "The pytree structure (treedef) of x changed",
        "The static argument config is a different object",
        "committed",
        "default_matmul_precision",
    ):
        assert part in reasons, part
    storms = said["%%jaxwatch -o storms"]
    for part in ("eager operations × 40", "grows by 1 each time", "a new body", "append"):
        assert part in storms, part


def test_the_benchmarks_show_what_their_text_speaks_of() -> None:
    cells = saved("05_jax_or_numpy")
    said = {cell.source: " ".join(words(cell).split()) for cell in cells}

    def output(start: str) -> str:
        return next(text for source, text in said.items() if start in source)

    assert "faster than NumPy: a Python loop" in output("-o sums")
    # JAX always folds it; so does TorchScript where PyTorch is installed.
    folded = re.search(r"J102 ([^:]*): The optimized program computes nothing", output("-o sums"))
    assert folded
    assert "JAX jit" in folded[1].split(", ")
    assert "s32[] constant(1249975000)" in output('split("ENTRY")')
    assert "while.0.body" in output("def of_xla")
    assert "JAX jit: vmap" in output("-o radii")
    assert "J202" in output("--dtype keep")
    without_torch = "PyTorch is not installed here"
    last = output("warning.code ==")
    assert "complex conjugate" in last or without_torch in last


def test_the_transforms_demo_shows_what_its_text_speaks_of() -> None:
    cells = saved("02_transforms")
    said = "\n".join(words(cell) for cell in cells)
    assert "their mean is the gradient of the mean: True" in said
    assert "the same as a @ b: True" in said
    assert "the conjugate of PyTorch's" in said
    assert "largest difference from their conjugate (JAX's convention): 0.0" in said
    assert "1.41421354 float32" in said
    assert "1.41421356 float64" in said
    modes = words(next(cell for cell in cells if "((8, 2000), (2000, 8))" in cell.source))
    flops = [float(n) for n in re.findall(r"jac\w+ +\(\d+, \d+\) +([\d.]+)", modes)]
    assert flops[0] < flops[1]
    assert flops[2] > flops[3]


def test_a_demo_with_an_error_or_a_path_is_noticed() -> None:
    cell = nbformat.v4.new_code_cell("%%jaxjit\ny = x")
    cell.outputs = [nbformat.v4.new_output("error", ename="E", evalue="", traceback=["Traceback"])]
    found = problems(nbformat.v4.new_notebook(cells=[cell]))
    assert [problem.split(":")[0] for problem in found] == [
        "cell 1 failed",
        "cell 1 shows no first line",
        "no cell shows that a run again compiles nothing",
    ]
    assert _PLACES.findall("File /tmp/ipykernel_12/34.py") == ["/tmp/ipykernel_12/34.py"]


def test_the_compiler_demo_climbs_the_whole_ladder() -> None:
    notebook = nbformat.read(ROOT / "demos/07_inside_the_compiler.ipynb", as_version=4)
    said = "\n".join(words(cell) for cell in code_cells(notebook))
    levels = ("jaxpr", "stablehlo", "hlo", "optimized_hlo", "llvm", "llvm_optimized")
    for level in levels:
        assert re.search(rf"^{level}: [1-9]\d* of \d+ lines", said, re.M), level
    for text in ("passes changed the program", "kernel  %", "-bit vectors", " phi ", "  push "):
        assert text in said, text
    assert "the program has no kernel of its own" in said


def test_the_demo_of_many_processes_finds_what_it_plants() -> None:
    notebook = nbformat.read(ROOT / "demos/08_many_processes.ipynb", as_version=4)
    said = " ".join("\n".join(words(cell) for cell in code_cells(notebook)).split())
    assert said.count("with different constants") == 2
    assert "and the sum 28.0" in said
    assert "process 1 made the others wait" in said
    assert re.search(r"host late at In \[\d+\]:2 `time.sleep", said)
    losses = re.findall(r"parallel: loss ([\d.]+)", said)
    assert len(losses) == 2
    assert losses[0] == losses[1]


def test_the_demo_of_targets_shows_what_its_text_speaks_of() -> None:
    cells = saved("11_devices_you_do_not_have")
    said = [words(cell) for cell in cells]
    assert not any("not installed" in one for one in said)
    fits = next(one for one in said if "tpu:v5e: Line 2 holds most" in one)
    assert "fits 0 of 3" in fits
    assert any("fits 3 of 3" in one for one in said)
    padding = next(words(cell) for cell in cells if ".padding" in cell.source)
    assert re.search(r"67 MB for  34 MB of data  f32\[65536,130\]", padding)
    assert any("gpu:h100:4   all-reduce, " in one for one in said)
    for stage, text in (("ptx", ".visible .entry"), ("sass", "LDC"), ("llo", "bundles · VALU")):
        assert any(f" · {stage} · line 2" in one and text in one for one in said)
    assert any("gpu:h100 → tpu:v5e · not run" in one for one in said)
    assert any("cusolver_geqrf_ffi" in one for one in said)
