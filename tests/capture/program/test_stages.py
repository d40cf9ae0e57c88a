"""The four texts, and the links from their lines to equations."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import textwrap
import threading

import jax
import jax.numpy as jnp
import pytest

from jaxscope.analysis.links.tags import TAG
from jaxscope.capture.jaxpr.tags import tag
from jaxscope.capture.program.describe import cost
from jaxscope.capture.program.stages import RELEASED, Handles
from jaxscope.capture.source.sources import SourceFiles
from jaxscope.model import StageKind, Unavailable
from tests.capture.program.linked import link
from tests.capture.program.programs import PROGRAMS, conv_batchnorm, dynamic_while
from tests.paths import ROOT


@pytest.fixture(scope="module")
def captured():
    return {name: link(*build()) for name, build in PROGRAMS.items()}


def in_subprocess(code, *arguments, **environment):
    """Run code that has `link` and `programs` at hand in a fresh process; its last line."""
    run = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code), *arguments],
        env={
            **os.environ,
            "JAX_PLATFORMS": "cpu",
            "PYTHONPATH": str(ROOT),
            **environment,
        },
        capture_output=True,
        text=True,
        timeout=800,
    )
    assert run.returncode == 0, run.stderr[-3000:]
    return run.stdout.strip().splitlines()[-1]


def test_at_least_85_percent_of_the_real_instructions_are_linked_exactly(captured):
    shares = {name: linked.share for name, linked in captured.items()}
    exact = sum(share[0] for share in shares.values())
    total = sum(share[2] for share in shares.values())
    assert exact >= 0.85 * total, shares
    # Half of a program's instructions at the very least, and nearly all have a place at all.
    assert all(share[0] >= 0.5 * share[2] for share in shares.values()), shares
    assert all(share[0] + share[1] >= 0.9 * share[2] for share in shares.values()), shares


@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_no_exact_link_contradicts_the_frames_that_xla_kept(captured, name):
    assert captured[name].wrong() == []


def test_the_check_of_wrong_links_can_fail(captured):
    linked = captured["attention"]
    equations = linked.tagged.equations
    other = next(e for e in reversed(equations) if e.frames[0].span != equations[0].frames[0].span)
    object.__setattr__(linked.tagged, "equations", (other,) * len(equations))
    try:
        assert linked.wrong()
    finally:
        object.__setattr__(linked.tagged, "equations", equations)


@pytest.mark.parametrize("name", sorted(PROGRAMS))
@pytest.mark.parametrize(
    "kind",
    [k for k in StageKind if k is not StageKind.REMARKS and "cpu" in (k.platforms or ("cpu",))],
)
def test_every_text_is_there_without_tags_and_with_anchors(captured, name, kind):
    stage = captured[name].handles.text(kind)
    assert stage.unavailable is None
    assert not TAG.search(stage.text)
    assert "stack_frame_id" not in stage.text
    assert "FileLocations" not in stage.text
    assert " loc(" not in stage.text
    lines = stage.text.splitlines()
    assert stage.anchors
    assert [a.line for a in stage.anchors] == sorted({a.line for a in stage.anchors})
    assert stage.anchors[-1].line <= len(lines)
    assert all(lines[anchor.line - 1].strip() for anchor in stage.anchors)


def test_each_line_of_the_jaxpr_has_the_equation_that_it_prints(captured):
    checked = 0
    for linked in captured.values():
        stage = linked.handles.text(StageKind.JAXPR)
        lines = stage.text.splitlines()
        for anchor in stage.anchors:
            assert anchor.exact
            # A line that begins an equation, `a:f32[4] = sin b`, names its primitive.
            begun = re.match(r"\s+(?:\w+:[^=]+ )+= ([\w\-]+)(?:\[| |$)", lines[anchor.line - 1])
            if begun and "{ lambda" not in lines[anchor.line - 1].split("=")[0]:
                names = {linked.tagged.equations[i].primitive for i in anchor.equations}
                assert begun[1] in names
                checked += 1
    assert checked > 1000


def test_every_equation_stands_on_a_line_of_the_jaxpr(captured):
    for linked in captured.values():
        stage = linked.handles.text(StageKind.JAXPR)
        seen = {i for anchor in stage.anchors for i in anchor.equations}
        assert seen == {equation.id for equation in linked.tagged.equations}


def test_a_parameter_that_breaks_the_line_does_not_shift_the_anchors():
    def shout(x):
        jax.debug.print("first\nsecond\nthird {x}", x=x)
        return jnp.tanh(x)

    linked = link(shout, (jnp.ones(2),))
    stage = linked.handles.text(StageKind.JAXPR)
    lines = stage.text.splitlines()
    [anchor] = [a for a in stage.anchors if "= tanh" in lines[a.line - 1]]
    assert linked.tagged.equations[anchor.equations[0]].primitive == "tanh"


def test_stablehlo_operations_have_the_equations_of_their_function_s_callers():
    @jax.jit
    def helper(x):
        return jnp.sin(x) * 2

    linked = link(lambda x: helper(helper(x)), (jnp.ones(3),))
    stage = linked.handles.text(StageKind.STABLEHLO)
    lines = stage.text.splitlines()
    sines = [e.id for e in linked.tagged.equations if e.primitive == "sin"]
    [anchor] = [a for a in stage.anchors if "stablehlo.sine" in lines[a.line - 1]]
    assert anchor.exact
    assert anchor.equations == tuple(sines)


def test_a_while_loop_in_stablehlo_is_anchored_where_it_begins():
    linked = link(*dynamic_while())
    stage = linked.handles.text(StageKind.STABLEHLO)
    lines = stage.text.splitlines()
    whiles = {e.id for e in linked.tagged.equations if e.primitive == "while"}
    anchors = {anchor.line: anchor for anchor in stage.anchors}
    [line] = [n for n, text in enumerate(lines, 1) if "= stablehlo.while(" in text]
    assert set(anchors[line].equations) == whiles


def test_a_fusion_has_its_own_equation_first_and_those_of_all_it_holds():
    linked = link(lambda x, y: jnp.tanh(jnp.exp(x) * y) - y, (jnp.ones(512), jnp.ones(512)))
    module = linked.handles.module()
    stage = linked.handles.text(StageKind.OPTIMIZED_HLO)
    anchors = {anchor.line: anchor for anchor in stage.anchors}
    fusion = next(i for i in module.instructions() if i.opcode == "fusion")
    anchor = anchors[fusion.line]
    names = [linked.tagged.equations[i].primitive for i in anchor.equations]
    assert names[0] == "sub"
    assert {"sub", "tanh", "mul", "exp"} <= set(names)
    assert anchor.exact


def test_what_xla_adds_without_a_name_is_never_exact(captured):
    for linked in captured.values():
        stage = linked.handles.text(StageKind.OPTIMIZED_HLO)
        anchors = {anchor.line: anchor for anchor in stage.anchors}
        for instruction in linked.handles.module().instructions():
            anchor = anchors.get(instruction.line)
            if anchor is None or instruction.op_name or instruction.called:
                continue
            assert not anchor.exact
            assert anchor.why


def test_the_regions_of_reductions_are_linked():
    linked = link(lambda x: jnp.sum(x, 0) + 1, (jnp.ones((64, 512)),))
    module = linked.handles.module()
    anchors = {a.line: a for a in linked.handles.text(StageKind.OPTIMIZED_HLO).anchors}
    regions = [name for i in module.instructions() if i.opcode == "reduce" for name in i.called]
    assert regions
    for region in regions:
        anchor = anchors[module.computation(region).root.line]
        primitives = {linked.tagged.equations[i].primitive for i in anchor.equations}
        assert anchor.exact
        assert primitives == {"reduce_sum"}


def test_texts_are_made_once_and_any_thread_may_ask():
    linked = link(*conv_batchnorm())
    made = []
    threads = [
        threading.Thread(target=lambda: made.append(linked.handles.text(StageKind.OPTIMIZED_HLO)))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({id(stage) for stage in made}) == 1


def test_a_released_program_says_so_and_keeps_the_texts_that_it_gave():
    linked = link(lambda x: jnp.sin(x), (jnp.ones(2),))
    kept = linked.handles.text(StageKind.JAXPR)
    linked.handles.release()
    assert linked.handles.text(StageKind.JAXPR) is kept
    stage = linked.handles.text(StageKind.OPTIMIZED_HLO)
    assert stage.unavailable == Unavailable(RELEASED)
    assert RELEASED == "the compiled program was released; re-run the cell"
    assert linked.handles.module() == Unavailable(RELEASED)


def test_an_object_that_fails_gives_a_reason_and_no_exception():
    class Broken:
        def as_text(self, *_, **__):
            raise RuntimeError("no text today")

    handles = Handles(None, Broken(), Broken())
    for kind in StageKind:
        assert handles.text(kind).unavailable is not None
    assert "no text today" in handles.text(StageKind.HLO).unavailable.reason
    assert "not compiled" in Handles().text(StageKind.OPTIMIZED_HLO).unavailable.reason


def test_tagging_leaves_the_result_alone():
    build = PROGRAMS["12-layer transformer train step"]
    f, args = build()
    jitted = jax.jit(f)
    expected = jax.jit(lambda *given: f(*given))(*args)[1]
    tag(jitted.trace(*args), SourceFiles())
    assert jnp.allclose(jitted(*args)[1], expected, rtol=1e-4)


def test_a_program_over_four_devices_is_linked():
    code = """
        from tests.capture.program.linked import link
        from tests.capture.program.programs import sharded
        linked = link(*sharded())
        exact, inexact, total = linked.share
        print(exact, total, len(linked.wrong()), "all-reduce" in linked.compiled.as_text())
    """
    flags = "--xla_force_host_platform_device_count=4"
    exact, total, wrong, reduces = in_subprocess(code, XLA_FLAGS=flags).split()
    assert int(exact) >= 0.85 * int(total) > 5
    assert (wrong, reduces) == ("0", "True")


FIRST = """
def program(x, y):
    a = jnp.sin(x)
    b = jnp.sin(y)
    return a * b + jnp.cos(x)
"""
MOVED = """
# a comment

def program(x, y):
    a = jnp.sin(x)

    b = jnp.sin(y)
    return a * b + jnp.cos(x)
"""
USES_CACHE = """
    import sys
    import jax, jax.numpy as jnp
    from tests.capture.program.linked import link
    from jaxscope.model import StageKind
    jax.config.update("jax_compilation_cache_dir", sys.argv[1])
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", 0)
    hits = []
    jax.monitoring.register_event_listener(
        lambda name, **_: hits.append(name) if name.endswith("cache_hits") else None)
    namespace = {"jnp": jnp}
    exec(compile(open(sys.argv[2]).read(), sys.argv[2], "exec"), namespace)
    if sys.argv[3] == "plain":
        jax.jit(namespace["program"])(jnp.ones(64), jnp.ones(64))
        print("plain")
        sys.exit()
    linked = link(namespace["program"], (jnp.ones(64), jnp.ones(64)))
    exact, inexact, total = linked.share
    stage = linked.handles.text(StageKind.OPTIMIZED_HLO)
    lines = stage.text.splitlines()
    equations = linked.tagged.equations
    # Each instruction's primitive has to be among those of its candidates.
    misled = sum(
        1 for a in stage.anchors for name in ("sine", "cosine")
        if f" {name}(" in lines[a.line - 1]
        and name[:3] not in {equations[i].primitive for i in a.equations})
    lowered = linked.handles.text(StageKind.STABLEHLO).anchors
    sure = int(all(a.exact for a in lowered))
    doubt = linked.handles.doubt() or "-"
    print(len(hits), exact, inexact, len(linked.wrong()), misled, sure, doubt)
"""


@pytest.mark.parametrize(
    ("before", "after", "links"),
    [(FIRST, FIRST, "exact"), (FIRST, MOVED, "edited"), (FIRST, FIRST, "untagged")],
)
def test_a_warm_persistent_cache_never_gives_a_wrong_exact_link(tmp_path, before, after, links):
    # The name of a notebook's cell file changes with the process and the text.
    first, second = tmp_path / "1" / "cell.py", tmp_path / "2" / "cell.py"
    for file, text in ((first, before), (second, after)):
        file.parent.mkdir()
        file.write_text(text)
    cache = str(tmp_path / "cache")
    how = "plain" if links == "untagged" else "tagged"
    cold = in_subprocess(USES_CACHE, cache, str(first), how)
    assert cold.startswith(("0 ", "plain"))
    warm = in_subprocess(USES_CACHE, cache, str(second), "tagged")
    hits, exact, inexact, wrong, misled, lowered, doubt = warm.split(maxsplit=6)
    assert int(hits) >= 1
    assert (wrong, misled, lowered) == ("0", "0", "1")
    if links == "exact":
        assert int(exact) > 0
        assert doubt == "-"
    else:
        assert int(exact) == 0
        assert int(inexact) > 0
        assert ("tags of a different one" in doubt) == (links == "edited")
        assert ("has no tags" in doubt) == (links == "untagged")


def test_a_text_without_metadata_has_no_links_and_says_so():
    linked = link(dynamic_while()[0], dynamic_while()[1])
    text = re.sub(r", metadata=\{[^}]*\}", "", linked.compiled.as_text())
    handles = linked.with_text(text)
    assert handles.doubt() == "the lines of the compiled program are not linked: it has no tags"
    assert handles.text(StageKind.OPTIMIZED_HLO).anchors == ()


def test_constants_that_xla_creates_itself_are_no_doubt():
    """`jnp.zeros` alone: there is nothing else to link, and nothing that the user could do."""
    linked = link(lambda: (jnp.zeros((3, 4)), jnp.full(5, 2.0)), ())
    assert "broadcast" in linked.compiled.as_text()
    assert linked.handles.doubt() == ""
    rising = jnp.arange(3.0)
    linked = link(lambda: rising + 1 - 1, ())
    assert "iota" in linked.compiled.as_text()
    assert linked.handles.doubt() == ""


def test_a_text_that_is_too_long_is_shown_and_not_read():
    linked = link(dynamic_while()[0], dynamic_while()[1])
    text = linked.compiled.as_text() + "// nothing\n" * 200_000
    handles = linked.with_text(text)
    assert re.fullmatch(
        r"the lines of the compiled program are not linked: it has 200,\d+ lines, and up to "
        r"200,000 are read",
        handles.doubt(),
    )
    stage = handles.text(StageKind.OPTIMIZED_HLO)
    assert (stage.unavailable, stage.anchors) == (None, ())
    assert len(stage.text) > 1_000_000
    assert isinstance(handles.module(), Unavailable)
    assert isinstance(cost(handles), Unavailable)
