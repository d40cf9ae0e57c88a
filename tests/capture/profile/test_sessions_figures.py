"""Call stacks, equations and figures of a real profile."""

from __future__ import annotations

import math
import sys

import jax
import jax.numpy as jnp
import pytest

import jaxscope
from jaxscope.analysis.profile import warnings
from jaxscope.analysis.profile.stacks import Node, by_equation, stack
from jaxscope.analysis.trace.event import Op
from jaxscope.model import Phase, Unavailable
from jaxscope.model.profile import Profile
from jaxscope.view.profile import icicle
from jaxscope.view.profile.instructions import times_of


def layer(h, w):
    return jnp.tanh(h @ w)


def loss(w, x):
    h = layer(x, w)
    return jnp.mean(layer(h, w) ** 2)


@pytest.fixture(scope="module")
def report() -> jaxscope.Report:
    w = jax.random.normal(jax.random.key(0), (512, 512))
    with pytest.MonkeyPatch.context() as patch:  # what is shown does not depend on the machine
        patch.setattr(warnings, "DISTORTED", math.inf)
        patch.setattr(warnings, "SHORTEST_S", 0.0)
        made = jaxscope.profile(jax.jit(jax.grad(loss)), w, w)
    made.stage("optimized_hlo")
    return made


def profile(report: jaxscope.Report) -> Profile:
    found = report.profile
    assert isinstance(found, Profile)
    return found


def depth_first(node: Node) -> list[Node]:
    return [node, *(below for child in node.children.values() for below in depth_first(child))]


def test_equations_have_all_of_the_time(report: jaxscope.Report) -> None:
    times = times_of(report.programs[0], profile(report))
    assert sum(times.values()) == pytest.approx(profile(report).covered_s)
    ordered = list(by_equation(times).values())
    assert ordered == sorted(ordered, reverse=True)


def test_every_node_is_the_sum_of_what_is_below_it(report: jaxscope.Report) -> None:
    program = report.programs[0]
    root = stack(program, times_of(program, profile(report)), program.title)
    assert root.seconds == pytest.approx(profile(report).covered_s)
    for node in depth_first(root):
        if node.children:
            below = sum(child.seconds for child in node.children.values())
            assert below == pytest.approx(node.seconds)


def test_stacks_go_from_python_through_the_direction_to_the_instruction(
    report: jaxscope.Report,
) -> None:
    program = report.programs[0]
    root = stack(program, times_of(program, profile(report)), program.title)
    first = loss.__code__.co_firstlineno + 1
    inner = layer.__code__.co_firstlineno + 1
    caller = root.children[f"loss line {first}"]
    directions = caller.children[f"layer line {inner}"].children
    assert {str(Phase.FORWARD), str(Phase.BACKWARD)} <= directions.keys()
    leaves = {node.label for node in depth_first(root) if not node.children}
    assert leaves == {op.name for op in profile(report).ops}


def test_the_report_shows_the_tree_and_the_equations(report: jaxscope.Report) -> None:
    words = report.to_text(full=True, width=120)
    assert "  By call stack\n" in words
    assert "Equations, the longest first" in words
    assert "layer line" in words
    assert 'alt="call stacks of ' in report.static_html()


def node(label: str, seconds: float, *children: Node) -> Node:
    return Node(label, seconds, children={child.label: child for child in children})


def test_a_chain_stands_on_one_line_and_small_parts_are_left_out() -> None:
    root = node("f", 1.0, node("g", 0.99, node("h", 0.7), node("i", 0.29)), node("tiny", 0.005))
    assert icicle.tree(root) == (
        "      1 s   100 %  f",
        "   990 ms    99 %    g",
        "   700 ms    70 %      h",
        "   290 ms    29 %      i",
    )
    chain = node("f", 1.0, node("g", 1.0, node("h", 1.0)))
    assert icicle.tree(chain) == ("      1 s   100 %  f › g › h",)


def test_boxes_are_as_wide_as_their_time_and_labels_are_data() -> None:
    drawn = icicle.svg(node("f", 1.0, node("<b>", 0.5), node("none", 0.001)))
    assert 'width="999"' in drawn
    assert 'width="499"' in drawn
    assert "&lt;b&gt;" in drawn
    assert "none" not in drawn


@pytest.mark.parametrize("kind", ["stack", "roofline", "timeline", "memory"])
def test_every_figure_is_drawn(report: jaxscope.Report, kind: str) -> None:
    pytest.importorskip("plotly", reason="the extra `plots` is not installed")
    if kind == "memory" and isinstance(report.programs[0].buffers, Unavailable):
        with pytest.raises(LookupError, match="There is no memory by line"):
            report.plot(kind)
        return
    figure = report.plot(kind)
    assert len(figure.data) >= 1
    assert figure.layout.paper_bgcolor == "rgba(0,0,0,0)"


def test_the_timeline_has_every_execution_and_bins_many(report: jaxscope.Report) -> None:
    pytest.importorskip("plotly", reason="the extra `plots` is not installed")
    from jaxscope.view.base.interactive import draw
    from jaxscope.view.profile.figures import timeline

    drawn = report.plot("timeline")
    assert sum(len(trace.x) for trace in drawn.data) >= len(profile(report).ops)
    many = [
        Op(
            "a",
            "m",
            1,
            1,
            0,
            thread="t/1",
            start=i * 10.0,
            end=i * 10.0 + 5,
        )
        for i in range(6000)
    ]
    binned = draw(timeline(many, {}))
    assert len(binned.data) == 1
    assert len(binned.data[0].x) == 400
    assert max(binned.data[0].marker.opacity) == pytest.approx(0.5, abs=0.05)
    assert "no instruction" in draw(timeline([], {})).layout.title.text


def test_threads_stand_in_the_order_in_which_they_began() -> None:
    pytest.importorskip("plotly", reason="the extra `plots` is not installed")
    from jaxscope.view.base.interactive import draw
    from jaxscope.view.profile.figures import timeline

    first = Op("short", "m", 1, 1, 0, thread="client/1", start=0.0, end=1.0)
    second = Op("long", "m", 1, 1, 0, thread="pool/2", start=5.0, end=50.0)
    drawn = draw(timeline([second, first], {"short": "line 1", "long": "line 2"}))
    assert [trace.name for trace in drawn.data] == ["line 2", "line 1"]
    assert drawn.layout.yaxis.categoryarray == ("1: pool", "0: client")


def test_the_timeline_names_a_direction_only_where_there_are_two(
    report: jaxscope.Report,
) -> None:
    pytest.importorskip("plotly", reason="the extra `plots` is not installed")
    x = jnp.ones((512, 512))
    plain = jaxscope.profile(jax.jit(lambda x: jnp.tanh(x @ x)), x)
    assert any("backward" in trace.name for trace in report.plot("timeline").data)
    assert not any("primal" in trace.name for trace in plain.plot("timeline").data)


def test_axes_have_their_units(report: jaxscope.Report) -> None:
    pytest.importorskip("plotly", reason="the extra `plots` is not installed")
    assert all("FLOP/s" in text for text in report.plot("roofline").layout.yaxis.ticktext)
    if not isinstance(report.programs[0].buffers, Unavailable):
        assert report.plot("memory").layout.yaxis.ticksuffix == "B"


def test_what_cannot_be_drawn_is_said(report: jaxscope.Report) -> None:
    pytest.importorskip("plotly", reason="the extra `plots` is not installed")
    with pytest.raises(ValueError, match=r"no plot 'pie'\. The plots are: stack, roofline"):
        report.plot("pie")
    plain = jaxscope.inspect(lambda x: x + 1, jnp.ones(3))
    with pytest.raises(LookupError, match="%jaxprof"):
        plain.plot()


def test_without_plotly_the_way_to_install_it_is_given(
    report: jaxscope.Report, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "plotly"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "plotly", None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install jaxscope\[plots\]"):
        report.plot()
