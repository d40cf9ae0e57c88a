"""Every cell of ``tests/cells`` in plain Python and under ``%%jaxjit``.

Each file is played in a real `InteractiveShell`: set-up, cell, change, cell again, what follows.
After every step all names of both namespaces are compared, with their types, dtypes and sharing,
and so are `Out` and what was printed. What may differ is one table, ``docs/semantics.md``.
"""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Iterator
from dataclasses import replace

import pytest

from measurements.false_findings import CellFinding, is_accepted
from tests.magics.cells.cell_case import Case, Difference, read_cases
from tests.magics.cells.cell_check import check, magic_line
from tests.magics.cells.cell_shell import CellShell, open_shell
from tests.paths import ROOT
from tests.thirds import ours

CASES = read_cases()
PLAYED = ours(CASES)
TABLE = ROOT / "docs" / "semantics.md"


@pytest.fixture(scope="module")
def plain_shell() -> Iterator[CellShell]:
    with open_shell() as shell:
        yield shell


@pytest.fixture
def jaxscope_shell(plain_shell: CellShell) -> Iterator[CellShell]:
    """Loaded anew for each cell: a program kept from another cell must not spare a compile."""
    plain_shell.run_line_magic("load_ext", "jaxscope")
    yield plain_shell
    plain_shell.run_line_magic("unload_ext", "jaxscope")


def skip_unless_installed(case: Case) -> None:
    for package in case.needs:
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"{package} is not installed")


@pytest.mark.parametrize("case", PLAYED, ids=[case.name for case in PLAYED])
def test_a_cell_means_the_same_under_the_magic(jaxscope_shell: CellShell, case: Case) -> None:
    skip_unless_installed(case)
    problems = check(jaxscope_shell, case, magic_line(case))
    assert not problems, "\n".join([f"{case.name}: {case.about}", *problems])


def test_a_finding_that_is_not_accepted_counts_as_false() -> None:
    found = CellFinding("names/read_through_globals", "constant_folded", 2, "…")
    assert is_accepted(found)
    assert not is_accepted(replace(found, cell="names/plain"))


def test_there_are_at_least_one_hundred_and_fifty_cells() -> None:
    assert len(CASES) >= 150
    assert len({case.cell for case in CASES}) > 0.8 * len(CASES)


def test_the_table_of_allowed_differences_is_the_one_that_the_check_knows() -> None:
    rows = re.findall(r"^\| `([a-z0-9-]+)` \|", TABLE.read_text(encoding="utf-8"), re.M)
    assert sorted(rows) == sorted(Difference)


def test_every_allowed_difference_is_used_by_a_cell_that_the_table_names() -> None:
    text = TABLE.read_text(encoding="utf-8")
    for row in re.findall(r"^\| `([a-z0-9-]+)` \|(.*)$", text, re.M):
        examples = re.findall(r"`(\w+/\w+)`", row[1])
        assert examples, f"{row[0]} names no cell"
        for example in examples:
            case = next(c for c in CASES if c.name == example)
            used = {a.difference for a in (*case.differs, *case.may_differ)}
            assert Difference(row[0]) in used, f"{example} does not show {row[0]}"
