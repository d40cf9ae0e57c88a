"""Tables as rows of words."""

import dataclasses

from jaxscope import model as m
from jaxscope.model.profile import CellProfile
from jaxscope.view.report import tables
from tests.view.conftest import load, plain

RECORD = load()


def test_every_row_has_a_cell_for_each_head() -> None:
    (program,) = RECORD.programs
    for table in (
        tables.values(program.inputs),
        tables.timings(program.timings),
        tables.work(program),
        tables.memory(program),
        tables.compiles(RECORD.compiles, RECORD),
        tables.environment(RECORD),
    ):
        assert table.rows
        assert {len(row) for row in table.rows} == {len(table.heads)}


def test_what_is_not_known_has_its_reason() -> None:
    program = dataclasses.replace(
        RECORD.programs[0],
        cost=m.Unavailable("no cost here"),
        memory=m.Unavailable("no memory here"),
        roofline=m.Unavailable("no peaks here"),
    )
    assert tables.work(program).rows == (
        ("cost", "—", "no cost here"),
        ("verdict", "—", "no peaks here"),
    )
    assert tables.memory(program).rows == (("memory", "—", "no memory here"),)


def test_doubts_about_the_cost_are_told() -> None:
    cost = m.Cost(1.0, 0.0, 1.0, ("a loop of unknown length counts once",))
    table = tables.work(dataclasses.replace(RECORD.programs[0], cost=cost))
    assert ("caveat", "≈", "a loop of unknown length counts once") in table.rows


def test_the_site_of_a_compile() -> None:
    compile = RECORD.compiles[0]
    assert tables.site(compile, RECORD) == "cell:1"
    outside = m.Frame(None, "/lib/optax/update.py", "f", m.Span(12, 0, 12, 5))
    assert (
        tables.site(dataclasses.replace(compile, site=outside), RECORD) == "/lib/optax/update.py:12"
    )
    assert tables.site(dataclasses.replace(compile, site=None), RECORD) == ""


def test_a_run_of_unknown_length_has_no_such_row() -> None:
    with_time = tables.environment(RECORD).rows
    without = tables.environment(dataclasses.replace(RECORD, wall_s=None)).rows
    assert with_time[-1] == ("whole run", "231 ms, including jaxscope's own work")
    assert without == with_time[:-1]


def test_why_there_is_no_program() -> None:
    assert tables.no_program(RECORD) == ""
    assert "ran as plain Python" in tables.no_program(plain(RECORD))
    assert "Nothing was compiled" in tables.no_program(plain(RECORD, form=m.Form.LINE))
    noted = dataclasses.replace(plain(RECORD), notes=("It could not be compiled.",))
    assert tables.no_program(noted) == ""
    idle = CellProfile(
        48e-6, (), 0.0, 0.0, 0, eager=0, events=0, compile_s=0.0, eager_s=0.0, waited_s=0.0
    )
    ran = plain(RECORD, form=m.Form.PROFILED, profile=idle)
    assert tables.no_program(ran) == "JAX ran no program in this cell."
    for eager, released in ((3, False), (2, True)):
        cell = dataclasses.replace(idle, runs=3, eager=eager)
        why = tables.no_program(dataclasses.replace(ran, profile=cell))
        assert why.startswith("No jitted function of yours ran here")
        assert ("released" in why) is released
