"""Cells made from a grammar of statements keep their meaning under ``%%jaxjit``.

A generated cell may fail; then it has to fail in the same way. In block form it may be refused
instead, and writes nothing; in function form it leaves what plain Python leaves.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st

from tests.magics.cells.cell_case import Case, Difference
from tests.magics.cells.cell_check import FALLEN_BACK, RUNS, Session, mismatches
from tests.magics.cells.cell_compare import SameObjects, compare_names
from tests.magics.cells.cell_grammar import AFTER, SETUP, cells
from tests.magics.cells.cell_shell import CellShell, open_shell, play
from tests.magics.cells.function_grammar import function_cells
from tests.magics.cells.nnx_grammar import nnx_cells

REFUSALS = ("RefusedError", "TracerBoolConversionError", "ConcretizationTypeError")


@pytest.fixture(scope="module")
def shell() -> Iterator[CellShell]:
    with open_shell() as shell:
        yield shell


@pytest.fixture
def jaxscope_shell(shell: CellShell) -> Iterator[CellShell]:
    shell.run_line_magic("load_ext", "jaxscope")
    yield shell
    shell.run_line_magic("unload_ext", "jaxscope")


def problems(shell: CellShell, case: Case, magic: str, *, undone: bool = True) -> Iterator[str]:
    """`undone` says that a cell that fails leaves everything as before."""
    ours = play(shell, case, magic)
    failed = ours[RUNS[0]].error != "", ours[RUNS[1]].error != ""
    plain = play(shell, case, skip=failed if undone else (False, False))
    for i, run in enumerate(RUNS):
        if FALLEN_BACK in ours[run].shown:
            yield f"run {i + 1} fell back: {ours[run].shown}"
        if failed[i] and undone:
            yield from problems_of_failure(shell, case, ours, i, failed)
        elif ours[run].error_type != plain[run].error_type:
            error = plain[run].error or "nothing"
            yield f"run {i + 1}: plain Python raises {error}, and we {ours[run].error or 'nothing'}"
    for label, mismatch in mismatches(plain, ours):
        if Difference.FLOAT_BECOMES_ARRAY not in mismatch.differences and not excused(
            case, mismatch.differences
        ):
            yield f"{label}: {mismatch.path}: {mismatch.sort}: {mismatch.text}"


def excused(case: Case, differences: frozenset[Difference]) -> bool:
    return "np.asarray" in case.change and Difference.NUMPY_BECOMES_ARRAY in differences


def problems_of_failure(
    shell: CellShell, case: Case, ours: Session, i: int, failed: tuple[bool, bool]
) -> Iterator[str]:
    step, before = ours[RUNS[i]], ours[RUNS[i] - 1]
    alone = play(shell, case, skip=(failed[0] and i == 1, failed[1] and i == 0))[RUNS[i]]
    if alone.error and alone.error_type != step.error_type and step.error_type not in REFUSALS:
        yield f"run {i + 1}: {step.error}, where plain Python raises {alone.error}"
    if not alone.error and step.error_type not in REFUSALS:
        yield f"run {i + 1}: {step.error}, where plain Python works"
    for name in step.changed:
        yield f"run {i + 1}: failed and yet wrote `{name}`"
    for m in compare_names(before.names, step.names, SameObjects()):
        yield f"run {i + 1}: failed and yet changed {m.path}: {m.text}"


@pytest.mark.parametrize("form", ["block", "functions"])
@settings(
    max_examples=20,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
)
@given(data=st.data())
def test_a_generated_cell_means_the_same_under_the_magic(
    jaxscope_shell: CellShell, form: str, data: st.DataObject
) -> None:
    block = form == "block"
    case = data.draw(cells() if block else function_cells())
    note(f"{case.cell}\n# change\n{case.change}")
    found = list(problems(jaxscope_shell, case, "%%jaxjit -n 1", undone=block))
    assert not found, "\n".join(found)


@settings(
    max_examples=20,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
)
@given(case=nnx_cells())
def test_a_generated_cell_leaves_the_same_modules(jaxscope_shell: CellShell, case: Case) -> None:
    pytest.importorskip("flax.nnx")
    pytest.importorskip("optax")
    note(f"{case.cell}\n# change\n{case.change}")
    found = list(problems(jaxscope_shell, case, "%%jaxjit -n 1", undone=False))
    assert not found, "\n".join(found)


@settings(max_examples=8, deadline=None, derandomize=True, database=None)
@given(case=cells())
def test_a_generated_cell_is_python_and_equals_itself(shell: CellShell, case: Case) -> None:
    note(f"{case.cell}\n# change\n{case.change}")
    compile(case.cell, "<generated>", "exec")
    assert not list(mismatches(play(shell, case), play(shell, case)))


def test_a_generated_cell_finds_a_magic_that_keeps_old_results(shell: CellShell) -> None:
    """The test above can fail: with a magic that runs a cell only once it does, and soon."""
    kept: dict[str, dict[str, object]] = {}

    def stale(line: str, cell: str) -> None:
        if cell not in kept:
            exec(cell, shell.user_ns)
            kept[cell] = {k: shell.user_ns[k] for k in ("a", "b") if k in shell.user_ns}
        shell.user_ns.update(kept[cell])

    shell.register_magic_function(stale, "cell", "stale")
    cell = "a = b * 2\n"
    case = Case("generated", "", SETUP, cell, "", "b = b + 1", AFTER)
    assert list(problems(shell, case, "%%stale"))
