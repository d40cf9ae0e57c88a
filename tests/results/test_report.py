"""The report that a user holds: its names, its exports, and what the program leaves behind."""

from __future__ import annotations

import dataclasses
import gzip
import inspect
import json
import math
import re
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import jsonschema
import numpy as np
import pytest

import jaxscope
from jaxscope import model as m
from jaxscope.results.report import Report
from tests.magics.notebook import Notebook, open_notebook
from tests.paths import ROOT

SCHEMA = json.loads((ROOT / "docs" / "report.schema.json").read_text("utf-8"))
STAGES = ("jaxpr", "stablehlo", "hlo", "optimized_hlo")


def standardize(x: Any, scale: Any = 1.0) -> Any:
    centerd = x - x.mean()
    return scale * centerd / x.std()


@pytest.fixture(scope="module")
def report() -> Report:
    return jaxscope.inspect(standardize, jnp.arange(512.0), scale=2.0)


@pytest.fixture(scope="module")
def notebook() -> Iterator[Notebook]:
    with open_notebook() as opened:
        yield opened


def fresh(report: Report) -> Report:
    return Report(report.record, report._texts)


def test_the_names_that_users_and_tests_depend_on(report: Report) -> None:
    assert report.summary().startswith("jit(standardize) · cpu:0 · ")
    assert [p.name for p in report.programs] == ["standardize"]
    assert report.sources[0].file == __file__
    assert report.exact is True
    assert {e.primitive for e in report.equations} >= {"sub", "div", "mul"}
    equation = next(e for e in report.equations if e.primitive == "sub" and e.parent is None)
    assert equation.span is not None
    line, column, end_line, end_column = equation.span
    text = report.sources[0].lines[line - 1]
    assert (line, text[column:end_column]) == (end_line, "x - x.mean()")
    assert equation.frames[0].function == "standardize"
    assert equation.phase == "primal"
    assert [(v.name, str(v.kind)) for v in report.inputs] == [
        ("x", "traced"),
        ("scale", "traced"),
    ]
    assert report.inputs[0].reason == "jax.Array"
    assert report.inputs[0].sharding == "cpu:0"
    assert [v.bytes for v in report.outputs] == [2048]
    compiled = report.compiles[0]
    assert compiled.fun_name == "standardize"
    assert min(compiled.trace_s, compiled.lower_s, compiled.compile_s) > 0
    assert compiled.total_s == compiled.trace_s + compiled.lower_s + compiled.compile_s
    call = report.programs[0].call
    assert call is not None
    assert call.low_s <= call.median_s <= call.high_s
    assert isinstance(report.cost, m.Cost)
    assert isinstance(report.memory, m.Memory)
    assert report.memory.peak >= report.memory.argument + report.memory.output
    assert isinstance(report.findings, tuple)


@pytest.mark.parametrize("kind", STAGES)
def test_each_stage_has_a_text_without_our_tags(kind: str, report: Report) -> None:
    stage = report.stage(kind)
    assert stage.kind == kind
    assert stage.unavailable is None
    assert stage.text
    assert "eqn_" not in stage.text


def test_a_text_is_fetched_once_and_kept(report: Report) -> None:
    mine = fresh(report)
    mine.stage("jaxpr")
    assert [s.kind for s in mine.record.programs[0].stages].count("jaxpr") == 1
    assert mine.stage("jaxpr") is mine.stage("jaxpr")


@pytest.mark.parametrize("name", ["report.json", "report.json.gz"])
def test_a_saved_report_is_the_same_when_it_is_loaded(
    name: str, report: Report, tmp_path: Path
) -> None:
    path = report.save(tmp_path / name)
    raw = path.read_bytes()
    assert (raw[:2] == b"\x1f\x8b") == name.endswith(".gz")
    loaded = jaxscope.load(path)
    assert loaded.record == report.complete().record
    assert loaded.summary() == report.summary()
    for kind in STAGES:
        assert loaded.stage(kind).text == report.stage(kind).text
    line = report.equations[0].frames[0].span.line
    assert loaded.stage_lines("optimized_hlo", line) == report.stage_lines("optimized_hlo", line)
    assert loaded.to_markdown() == report.to_markdown()


def test_the_json_is_as_its_schema_says(report: Report) -> None:
    data = json.loads(json.dumps(report.to_json()))
    jsonschema.Draft202012Validator(SCHEMA).validate(data)
    del data["programs"][0]["name"]
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft202012Validator(SCHEMA).validate(data)


def test_a_report_of_a_later_schema_is_refused_by_name(report: Report, tmp_path: Path) -> None:
    path = tmp_path / "later.json"
    path.write_text(json.dumps({**report.to_json(), "schema": 99}))
    expected = rf"later.json has schema 99 and this jaxscope reads up to {m.SCHEMA}; upgrade"
    with pytest.raises(m.SchemaError, match=expected):
        jaxscope.load(path)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"no json", "is not a jaxscope comparison, diff, report or compile log: "),
        (b"[1, 2]", "it names no schema"),
        (b'{"a": 1}', "it names no schema"),
        (gzip.compress(b"{", mtime=0)[:-4], "is not a jaxscope comparison"),
        (b'{"schema": 1}', r"is not a jaxscope .*compile log\.$"),
        (b'{"schema": 1, "programs": []}', "title"),
    ],
)
def test_a_file_that_is_no_report(content: bytes, says: str, tmp_path: Path) -> None:
    path = tmp_path / "other.json"
    path.write_bytes(content)
    with pytest.raises(m.SchemaError, match=says):
        jaxscope.load(path)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        jaxscope.load(tmp_path / "nothing.json")


def test_the_page_is_one_file_that_asks_for_nothing(report: Report, tmp_path: Path) -> None:
    text = report.to_html(tmp_path / "report.html").read_text("utf-8")
    assert "default-src 'none'" in text
    assert "centerd = x - x.mean()" in text or "centerd" in text
    # The viewer's own script may speak of these; its policy lets it fetch nothing.
    markup = re.sub(r"<script>.*?</script>", "", text, flags=re.DOTALL)
    assert not re.search(r"<link|<(script|img|iframe)[^>]*\ssrc=|url\((?!#|data:)", markup)


def test_markdown_begins_with_the_first_line(report: Report) -> None:
    text = report.to_markdown()
    assert report.summary().split(" · ")[0] in text.splitlines()[0]


def test_the_displays(report: Report) -> None:
    bundle = report._repr_mimebundle_()
    assert set(bundle) >= {"text/plain", "text/html"}
    assert "<script" not in bundle["text/html"]
    assert report.summary().split(" · ")[0] in bundle["text/plain"]
    assert repr(report) == f"<jaxscope.Report: {report.summary()}>"


@pytest.mark.parametrize("broken", ["to_text", "static_html"])
def test_a_display_that_fails_is_one_line(
    broken: str, report: Report, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fault(*_: Any, **__: Any) -> str:
        raise KeyError("gone")

    monkeypatch.setattr(Report, broken, fault)
    bundle = report._repr_mimebundle_()
    if broken == "to_text":
        assert bundle["text/plain"] == "jaxscope could not draw the report (KeyError: 'gone')."
        assert "text/html" in bundle
    else:
        assert set(bundle) == {"text/plain"}
        assert bundle["text/plain"].startswith("jit(standardize)")


def test_the_transfer_of_numpy_inputs_is_timed_apart(report: Report, notebook: Notebook) -> None:
    assert "transfer" not in [timing.label for timing in report.timings]
    moved = jaxscope.inspect(standardize, np.arange(512.0, dtype=np.float32))
    (transfer,) = [timing for timing in moved.timings if timing.label == "transfer"]
    assert transfer.note == "1 NumPy array, 2048 bytes"
    notebook.must("import jax.numpy as jnp, numpy as np\nx = np.ones(64, np.float32)")
    ran = notebook.must("%%jaxjit -o block\ny = jnp.sin(x) * 2")
    assert ran.error is None
    block = notebook.names["block"]
    assert [timing.label for timing in block.timings].count("transfer") == 1


def test_data_frames(report: Report) -> None:
    lines = report.to_dataframe()
    ops = report.to_dataframe("ops")
    assert list(lines.columns)[:3] == ["source", "line", "text"]
    assert lines["equations"].sum() == len(report.equations)
    assert isinstance(report.cost, m.Cost)
    outer = ops[ops["fusion"] == ""]
    assert (outer["flops"] * outer["times"].fillna(0)).sum() == report.cost.flops
    # What no line could be found for, such as the first half of a split reduction, is no line's.
    assert 0.5 * report.cost.flops < lines["flops"].sum() <= report.cost.flops
    assert set(ops["opcode"]).isdisjoint({"parameter", "constant", "tuple"})
    assert report.to_dataframe("compiles")["function"].tolist() == ["standardize"]
    timings = report.to_dataframe("timings").set_index("label")
    call = report.programs[0].call
    assert call is not None
    assert timings.loc["call", "median_s"] == call.median_s
    values = report.to_dataframe("values")
    assert values["direction"].tolist() == ["input", "input", "output"]
    assert values["bytes"].tolist()[0] == 2048
    with pytest.raises(ValueError, match=r"There is no table 'rows'\. The tables are: lines, ops"):
        report.to_dataframe("rows")  # type: ignore[arg-type]


def test_a_released_program_says_so_and_keeps_what_was_fetched() -> None:
    mine = jaxscope.inspect(jax.jit(lambda x: x * 2 + 1), jnp.arange(4.0))
    text = mine.stage("jaxpr").text
    mine._texts[0].release()
    assert mine.stage("jaxpr").text == text
    unavailable = mine.stage("stablehlo").unavailable
    assert unavailable == m.Unavailable("the compiled program was released; re-run the cell")
    assert mine.stage_lines("stablehlo", 1).why == unavailable.reason
    assert mine.summary()
    assert mine.to_text()


class Counted:
    """A text source that records which stages are fetched."""

    def __init__(self, source: m.TextSource) -> None:
        self.source = source
        self.asked: list[str] = []

    def text(self, kind: m.StageKind) -> m.Stage:
        self.asked.append(str(kind))
        return self.source.text(kind)


def test_a_stage_that_costs_a_compile_is_fetched_on_request_only(
    report: Report, tmp_path: Path
) -> None:
    assert all(kind.on_request for kind in m.StageKind if kind.costs_compile)
    record = dataclasses.replace(
        report.record, programs=(dataclasses.replace(report.programs[0], stages=()),)
    )
    (live,) = report._texts
    assert live is not None
    counted = Counted(live)
    mine = Report(record, (counted,))
    mine.complete()
    mine.save(tmp_path / "report.json")
    mine.to_html(tmp_path / "report.html")
    mine.payload()
    mine.payload(whole=True)
    mine._repr_mimebundle_()
    assert sorted(counted.asked) == ["hlo", "jaxpr", "optimized_hlo", "stablehlo"]
    saved = jaxscope.load(tmp_path / "report.json")
    assert saved.stage("llvm").unavailable is not None
    assert mine.stage("llvm").text
    assert counted.asked[-1] == "llvm"
    # Once it was fetched it costs nothing, so that it is saved and shown as well.
    mine.save(tmp_path / "report.json")
    assert jaxscope.load(tmp_path / "report.json").stage("llvm").text == mine.stage("llvm").text
    assert counted.asked.count("llvm") == 1


def test_a_saved_report_says_which_texts_it_lacks(report: Report) -> None:
    program = dataclasses.replace(report.programs[0], stages=())
    bare = Report(dataclasses.replace(report.record, programs=(program,)))
    unavailable = bare.stage("jaxpr").unavailable
    assert unavailable == m.Unavailable("this text was not saved with the report; run it again")


def test_a_report_without_a_program(report: Report, tmp_path: Path) -> None:
    bare = Report(dataclasses.replace(report.record, programs=(), compiles=()))
    assert not bare.exact
    assert bare.equations == bare.inputs == bare.outputs == bare.timings == ()
    nothing = m.Unavailable("nothing was compiled, so there is no program to show")
    assert bare.cost == bare.memory == bare.roofline == nothing
    assert bare.stage("jaxpr").unavailable == nothing
    assert bare.stage_lines("jaxpr", 1).lines == ()
    assert "nothing was compiled" in bare.summary()
    assert bare.to_text()
    assert bare.to_markdown()
    assert bare.to_html(tmp_path / "bare.html").stat().st_size > 1000
    assert len(bare.to_dataframe("ops")) == 0
    assert jaxscope.load(bare.save(tmp_path / "bare.json")).record == bare.record
    with pytest.raises(ValueError, match="does not contain the source of its function"):
        bare.to_python()


def test_a_report_of_what_others_compiled_does_not_deny_it(report: Report) -> None:
    others = Report(dataclasses.replace(report.record, programs=()))
    assert others.compiles
    reason = m.Unavailable(
        "only other functions compiled in this run, so there is no program to show"
    )
    assert others.cost == others.memory == others.roofline == others.profile == reason
    assert others.stage("jaxpr").unavailable == reason


def test_figures_that_are_not_finite_survive_saving(report: Report, tmp_path: Path) -> None:
    timing = m.Timing("call", "cpu:0", (math.inf, 1.0))
    program = dataclasses.replace(report.programs[0], timings=(timing,))
    odd = Report(dataclasses.replace(report.record, programs=(program,)))
    loaded = jaxscope.load(odd.save(tmp_path / "odd.json"))

    def refuse(constant: str) -> Any:
        raise AssertionError(f"{constant} is no JSON")

    json.loads((tmp_path / "odd.json").read_text(), parse_constant=refuse)
    assert loaded.timings[0].samples[1] == 1.0


# What `to_python` gives is run here in a fresh module, and called with the inputs of the report.

SETUP = """
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
import jax.nn as nn
x = jnp.arange(6.0).reshape(2, 3) + 1
w = jnp.ones((3, 2)) / 2
a = np.linspace(0.0, 1.0, 4)
n = 2
s = 2.5
mode = "sum"
sizes = (3, 2)
params = {"w": w, "b": jnp.zeros(2)}
def helper(v):
    return v * FACTOR + 1
FACTOR = 3
def outer(v):
    return helper(v) - 1
"""

BLOCKS = {
    "expression": "(x - x.mean()) / x.std()",
    "names": "y = x * 2\nz = y.sum()",
    "names and a value": "y = x * 2\ny.sum()",
    "static int": "y = x[:, :n] ** n",
    "float": "y = s * x",
    "numpy": "y = jnp.sin(a)",
    "static text": "y = x.sum() if mode == 'sum' else x",
    "static tuple": "y = x.T.reshape(sizes)",
    "containers": "y = {'out': x @ params['w'] + params['b'], 'n': x[0]}",
    "helper": "y = helper(x)",
    "helper of a helper": "y = outer(x)",
    "module function": "y = nn.relu(x - 2) + lax.exp(x)",
    "scan": "c, ys = lax.scan(lambda c, v: (c + v, c * v), 0.0, x[0])",
    "loop": "y = x\nfor i in range(n):\n    y = y * 2 + i",
    "reassigned input": "x2 = x\nx2 = x2 + 1\nx2 = x2 * 2",
    "definition in block": "def inner(v):\n    return v * 2\ny = inner(x)",
    "silenced": "y = x + 1\ny.sum();",
    "comment and strings": "# a comment\ny = x + 1  # more\nlabel = 'a\\nb'\nz = y * 2",
}


def run_python(text: str) -> dict[str, Any]:
    module = types.ModuleType("pasted")
    exec(compile(text, "<pasted>", "exec"), module.__dict__)
    return module.__dict__


@pytest.mark.parametrize("name", BLOCKS)
def test_the_python_of_a_block_gives_the_same_results(name: str, notebook: Notebook) -> None:
    notebook.shell.reset(new_session=False)
    notebook.must(SETUP)
    before = dict(notebook.names)
    block = "--block " if "def " in BLOCKS[name] else ""
    ran = notebook.must(f"%%jaxjit {block}-n 1 -q -o report\n{BLOCKS[name]}")
    text = notebook.names["report"].to_python()
    pasted = run_python(text)
    function = pasted["cell"]
    parameters = list(inspect_parameters(function))
    result = function(**{p: before[p] for p in parameters})
    new = [notebook.names[k] for k in notebook.names if k not in before and k[0] != "_"]
    expected = [leaf for leaf in jax.tree_util.tree_leaves(new) if isinstance(leaf, jax.Array)]
    if ran.value is not None:
        expected += jax.tree_util.tree_leaves(ran.value)
    assert expected, name
    produced = jax.tree_util.tree_leaves(result)
    for wanted in expected:
        assert any(
            np.shape(p) == wanted.shape and np.allclose(p, wanted, rtol=1e-5) for p in produced
        ), (name, text)


def test_the_python_of_a_cell_with_a_module_of_equinox_is_under_its_own_jit(
    notebook: Notebook,
) -> None:
    pytest.importorskip("equinox")
    notebook.shell.reset(new_session=False)
    notebook.must(
        "import jax, jax.numpy as jnp, equinox as eqx\nx = jnp.ones(4)\n"
        "nets = [eqx.nn.MLP(4, 2, 8, 1, key=jax.random.key(0))]"
    )
    notebook.must("%%jaxjit -n 1 -q -o report\nout = nets[0](x)")
    names = notebook.names
    pasted = run_python(names["report"].to_python())
    np.testing.assert_allclose(pasted["cell"](names["nets"], names["x"]), names["out"], rtol=1e-5)


def inspect_parameters(function: Any) -> tuple[str, ...]:
    return tuple(inspect.signature(inspect.unwrap(function)).parameters)


def sum_of_squares(x: Any) -> Any:
    return (x**2).sum()


def test_the_python_of_a_decorator_cell_runs(notebook: Notebook) -> None:
    notebook.shell.reset(new_session=False)
    notebook.must(SETUP)
    notebook.must(
        "%%jaxjit -n 1 -q -o report\ndef loss(v, k):\n    return (helper(v) ** 2).sum() * k\n"
        "out = loss(x, 2.0)"
    )
    pasted = run_python(notebook.names["report"].to_python().replace("out = loss(x, 2.0)", ""))
    np.testing.assert_allclose(
        pasted["loss"](notebook.names["x"], 2.0), notebook.names["out"], rtol=1e-5
    )


def test_the_python_of_a_function_brings_its_helpers(report: Report) -> None:
    pasted = run_python("from typing import Any\n" + report.to_python())
    np.testing.assert_allclose(
        pasted["standardize"](jnp.arange(8.0)), standardize(jnp.arange(8.0)), rtol=1e-6
    )


@jax.grad
def decorated(x: Any) -> Any:
    return (x**2).sum()


@pytest.mark.parametrize("given", [decorated, jax.jit(decorated)])
def test_the_python_of_a_function_has_its_decorators(given: Any) -> None:
    text = jaxscope.inspect(given, jnp.arange(3.0)).to_python()
    np.testing.assert_allclose(run_python("from typing import Any\n" + text)["decorated"](3.0), 6.0)


@pytest.mark.parametrize("given", [jax.grad(sum_of_squares), jax.vmap(jax.jit(sum_of_squares))])
def test_a_function_under_a_transform_is_not_given_without_it(given: Any) -> None:
    with pytest.raises(ValueError, match="does not contain the source of its function"):
        jaxscope.inspect(given, jnp.arange(3.0)).to_python()


def test_what_was_given_as_an_object_has_no_python() -> None:
    compiled = jax.jit(standardize).lower(jnp.arange(4.0)).compile()
    with pytest.raises(ValueError, match="does not contain the source of its function"):
        jaxscope.inspect(compiled).to_python()
