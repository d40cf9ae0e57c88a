"""Tags: one compile, nothing about the executable changes, and every tag leads to its equation."""

from __future__ import annotations

import re
import warnings
from contextlib import contextmanager
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxscope.analysis.links.tags import TAG, clean_hlo, tags_of, without_tags
from jaxscope.capture import _jax
from jaxscope.capture.jaxpr.reader import jaxprs_in, open_jaxpr
from jaxscope.capture.jaxpr.tags import adopt, tag, tag_jaxpr, untagged
from jaxscope.capture.program.stages import Handles
from jaxscope.capture.source.sources import SourceFiles
from jaxscope.model import Phase, StageKind
from tests.capture.program.programs import PROGRAMS, attention, conv_batchnorm, fft_linalg
from tests.private_names import break_private

COMPILE = "/jax/core/compile/backend_compile_duration"
LOWER = "/jax/core/compile/jaxpr_to_mlir_module_duration"


@contextmanager
def counted(event):
    seen = []

    def listen(name, *_, **__):
        if name == event:
            seen.append(name)

    jax.monitoring.register_event_duration_secs_listener(listen)
    try:
        yield seen
    finally:
        jax.monitoring.unregister_event_duration_listener(listen)


def canonical(text):
    """HLO without metadata, names by order of appearance: what the executable computes."""
    text = clean_hlo(text).text
    text = re.sub(r", metadata=\{[^}]*\}", "", text)
    names = {}
    return re.sub(r"%[\w.\-]+", lambda m: f"%{names.setdefault(m[0], len(names))}", text)


def all_equations(jaxpr):
    for equation in open_jaxpr(jaxpr).eqns:
        yield equation
        for value in equation.params.values():
            for inner in jaxprs_in(value):
                yield from all_equations(inner)


def spelled(equation):
    return [name for _, name in _jax.name_scopes(equation)]


def test_a_tagged_program_compiles_once_and_the_users_call_compiles_nothing():
    f = jax.jit(lambda x: jnp.tanh(x) * 2)
    x = jnp.ones(3)
    with counted(COMPILE) as compiles:
        traced = f.trace(x)
        assert tag(traced, SourceFiles()).hash
        traced.lower().compile()
        assert len(compiles) == 1
        f(x)
        f(x)
    assert len(compiles) == 1


@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_the_tagged_executable_is_the_untagged_one(name):
    f, args = PROGRAMS[name]()
    plain = jax.jit(f).lower(*args).compile().as_text()
    g, args = PROGRAMS[name]()
    traced = jax.jit(g).trace(*args)
    tagged = tag(traced, SourceFiles())
    text = traced.lower().compile().as_text()
    assert tagged.hash in text
    assert canonical(text) == canonical(plain)
    # Taking the tags out gives back the very names that JAX wrote.
    names = re.findall(r'op_name="([^"]*)"', plain)
    assert [without_tags(n) for n in re.findall(r'op_name="([^"]*)"', text)] == [
        without_tags(n) for n in names
    ]


def test_donation_and_static_arguments_are_kept():
    f = jax.jit(lambda x, n: x * n + 1, donate_argnums=0, static_argnums=1)
    traced = f.trace(jnp.ones(8), 3)
    tag(traced, SourceFiles())
    compiled = traced.lower().compile()
    assert "input_output_alias" in compiled.as_text()
    given = jnp.ones(8)
    np.testing.assert_array_equal(f(given, 3), np.full(8, 4.0))
    assert given.is_deleted()


def test_shardings_are_kept():
    sharding = jax.sharding.SingleDeviceSharding(jax.devices()[0])
    f = jax.jit(lambda x: x + 1, in_shardings=sharding, out_shardings=sharding)
    traced = f.trace(jnp.ones(4))
    tag(traced, SourceFiles())
    compiled = traced.lower().compile()
    assert jax.tree.leaves(compiled.output_shardings) == [sharding]


@pytest.mark.parametrize("build", [attention, conv_batchnorm, fft_linalg])
def test_every_equation_at_every_depth_has_a_tag_without_at_sign(build):
    f, args = build()
    traced = jax.jit(f).trace(*args)
    tagged = tag(traced, SourceFiles())
    equations = list(all_equations(traced.jaxpr))
    assert len(equations) == len(tagged.equations)
    for equation in equations:
        assert any(TAG.fullmatch(name) for name in spelled(equation))
        assert "@" not in "".join(spelled(equation))


def test_tag_paths_are_distinguished_by_call_site():
    @jax.jit
    def helper(x):
        return jnp.sin(x)

    traced = jax.jit(lambda x: helper(helper(x))).trace(jnp.ones(3))
    tagged = tag(traced, SourceFiles())
    sines = [e for e in tagged.equations if e.primitive == "sin"]
    assert len(sines) == 2
    assert sines[0].parent != sines[1].parent
    names = re.findall(r'op_name="([^"]*sin)"', traced.lower().compile().as_text())
    found = {tagged.tag_paths.find(tags_of(name)).equations for name in names}
    assert found == {(sines[0].id,), (sines[1].id,)}


def test_a_shared_jaxpr_is_tagged_once_and_later_programs_reuse_its_tags():
    @jax.jit
    def helper(x):
        return jnp.cos(x) + 1

    first = jax.jit(lambda x: helper(x) * 2).trace(jnp.ones(5))
    tag(first, SourceFiles())
    inner = first.jaxpr.eqns[0].params["jaxpr"]
    before = [spelled(equation) for equation in open_jaxpr(inner).eqns]
    second = jax.jit(lambda x: helper(x) - 7).trace(jnp.ones(5))
    tagged = tag(second, SourceFiles())
    assert open_jaxpr(second.jaxpr.eqns[0].params["jaxpr"]) is open_jaxpr(inner)
    assert [spelled(equation) for equation in open_jaxpr(inner).eqns] == before
    text = second.lower().compile().as_text()
    [name] = set(re.findall(r'op_name="([^"]*/cos)"', text))
    [found] = tagged.tag_paths.find(tags_of(name)).equations
    assert tagged.equations[found].primitive == "cos"


def test_tagging_twice_changes_nothing():
    traced = jax.jit(lambda x: jnp.exp(x) + x).trace(jnp.ones(2))
    first = tag(traced, SourceFiles())
    scopes = [spelled(equation) for equation in traced.jaxpr.eqns]
    assert tag(traced, SourceFiles()).hash == first.hash
    assert [spelled(equation) for equation in traced.jaxpr.eqns] == scopes


def test_the_gradient_of_a_tagged_function_is_linked_to_its_own_equations():
    f = jax.jit(lambda x: jnp.sum(jnp.tanh(x) ** 3))
    traced = f.trace(jnp.ones(4))
    tag(traced, SourceFiles())
    traced.lower().compile()
    gradient = jax.jit(jax.grad(f)).trace(jnp.ones(4))
    tagged = tag(gradient, SourceFiles())
    for name in re.findall(r'op_name="([^"]*eqn_[^"]*)"', gradient.lower().compile().as_text()):
        [found] = tagged.tag_paths.find(tags_of(name)).equations
        backward = tagged.equations[found].phase is Phase.BACKWARD
        assert backward == ("transpose(" in name)


def test_the_hash_depends_on_spans_primitives_and_avals():
    def hash_of(text, x):
        namespace = {"jnp": jnp}
        f = eval(compile(text, __file__, "eval"), namespace)
        return tag(jax.jit(f).trace(x), SourceFiles()).hash

    x = jnp.ones(3)
    base = hash_of("lambda x: jnp.sin(x)", x)
    assert hash_of("lambda x: jnp.sin(x)", x) == base
    assert hash_of("lambda x:  jnp.sin(x)", x) != base
    assert hash_of("lambda x: jnp.cos(x)", x) != base
    assert hash_of("lambda x: jnp.sin(x)", jnp.ones(4)) != base


def test_a_program_that_cannot_be_tagged_is_left_untagged_with_the_reason(monkeypatch):
    def refuse(equation, name):
        raise AttributeError("no source_info")

    break_private(monkeypatch, "push_scope", refuse)
    traced = jax.jit(lambda x: jnp.sin(x) + 1).trace(jnp.ones(3))
    tagged = tag(traced, SourceFiles())
    assert tagged.hash == ""
    assert "does not let equations be tagged" in tagged.why
    assert [e.primitive for e in tagged.equations] == ["sin", "add"]
    lowered = traced.lower()
    stage = Handles(traced, lowered, lowered.compile(), tagged).text(StageKind.OPTIMIZED_HLO)
    assert stage.anchors
    assert not any(anchor.exact for anchor in stage.anchors)


def test_an_object_that_is_not_traced_gives_a_reason_and_no_exception():
    assert "no jaxpr" in tag(object(), SourceFiles()).why
    assert "could not be read" in tag_jaxpr(None, SourceFiles()).why
    assert "could not be read" in untagged(object(), SourceFiles()).why
    assert "does not keep the jaxpr of a lowered program" in untagged(None, SourceFiles()).why


def test_a_jaxpr_is_tagged_inside_the_listener_that_reports_its_lowering():
    sources = SourceFiles()
    found = []

    def listen(event, value, **kwargs):
        if event == LOWER:
            found.append(tag_jaxpr(_jax.lowering_jaxpr(), sources))

    def loss(x, unused):
        dead = jnp.cos(x)
        return jnp.sum(jnp.tanh(x) * 2), dead

    f = jax.jit(lambda x, unused: loss(x, unused)[0])
    x = jnp.ones(4)
    jax.monitoring.register_scalar_listener(listen)
    try:
        with counted(COMPILE) as compiles:
            f(x, x)
        assert len(compiles) == 1
    finally:
        jax.monitoring.unregister_scalar_listener(listen)
    [tagged] = found
    assert not tagged.why
    assert "cos" not in [e.primitive for e in tagged.equations]
    # The handles are cache hits, and the executable is the one that ran.
    with counted(COMPILE) as compiles:
        traced = f.trace(x, x)
        lowered = traced.lower()
        compiled = lowered.compile()
    assert compiles == []
    # Tagged once more as a whole, dead equations and all, it is still known by the first tags.
    whole = tag(traced, sources)
    assert "cos" in [e.primitive for e in whole.equations]
    for known in (tagged, whole):
        handles = Handles(traced, lowered, compiled, known, sources)
        assert handles.doubt() == ""
        assert any(
            known.equations[anchor.equations[0]].primitive == "tanh" and anchor.exact
            for anchor in handles.text(StageKind.OPTIMIZED_HLO).anchors
        )


def test_an_edit_that_changes_no_structure_adopts_the_old_tags():
    def trace(text):
        f = eval(compile(text, __file__, "eval"), {"jnp": jnp})
        return jax.jit(f).trace(jnp.ones(3))

    old_trace = trace("lambda x: jnp.sin(x) * 2 + x")
    old = tag(old_trace, SourceFiles())
    compiled = old_trace.lower().compile()
    new_trace = trace("lambda x:     jnp.sin(x) * 2 + x")
    new = tag(new_trace, SourceFiles())
    assert new.hash != old.hash
    adopted = adopt(new, old)
    assert adopted is not None
    handles = Handles(new_trace, new_trace.lower(), compiled, adopted)
    for kind in (StageKind.OPTIMIZED_HLO, StageKind.STABLEHLO):
        stage = handles.text(kind)
        sine = next(
            anchor
            for anchor in stage.anchors
            if adopted.equations[anchor.equations[0]].primitive == "sin"
        )
        assert sine.exact
        assert adopted.equations[sine.equations[0]].span == new.equations[0].span


@pytest.mark.parametrize(
    ("text", "old"),
    [
        ("lambda x: x + jnp.sin(x) * 2", "lambda x: jnp.sin(x) * 2 + x"),
        ("lambda x: jnp.sin(x) * 2 + x + 0 * x", "lambda x: jnp.sin(x) * 2 + x"),
        ("lambda x: jnp.cos(x) * 2 + x", "lambda x: jnp.sin(x) * 2 + x"),
        ("lambda x: (jnp.sin(x), x)", "lambda x: (x, jnp.sin(x))"),
    ],
)
def test_a_different_structure_adopts_nothing(text, old):
    def tagged(source):
        f = eval(compile(source, __file__, "eval"), {"jnp": jnp})
        return tag(jax.jit(f).trace(jnp.ones(3)), SourceFiles())

    assert adopt(tagged(text), tagged(old)) is None


def test_a_program_compiled_from_a_different_text_has_exact_links_in_its_lowering_only():
    def trace(text):
        f = eval(compile(text, __file__, "eval"), {"jnp": jnp})
        return jax.jit(f).trace(jnp.ones(3))

    old_trace = trace("lambda x: jnp.sin(x) * 2 + x")
    tag(old_trace, SourceFiles())
    compiled = old_trace.lower().compile()
    new_trace = trace("lambda x:  jnp.sin(x) * 2 + x")
    new = replace(tag(new_trace, SourceFiles()), other="another text")
    handles = Handles(new_trace, new_trace.lower(), compiled, new)
    assert handles.doubt() == "another text"
    anchors = handles.text(StageKind.OPTIMIZED_HLO).anchors
    assert anchors
    assert not any(anchor.exact for anchor in anchors)
    assert all(anchor.exact for anchor in handles.text(StageKind.STABLEHLO).anchors)


def test_a_program_lowered_before_is_matched_and_never_compiled_again():
    f = jax.jit(lambda x: jnp.sin(x) * 2)
    x = jnp.ones(3)
    f(x)
    with counted(COMPILE) as compiles, warnings.catch_warnings():
        traced = f.trace(x)
        tagged = tag(traced, SourceFiles())
        lowered = traced.lower()
        handles = Handles(traced, lowered, lowered.compile(), tagged)
        stage = handles.text(StageKind.OPTIMIZED_HLO)
    assert compiles == []
    assert "the compiled program has no tags" in handles.doubt()
    sine = [a for a in stage.anchors if tagged.equations[a.equations[0]].primitive == "sin"]
    assert sine
    assert not any(anchor.exact for anchor in stage.anchors)


@pytest.mark.parametrize(
    "name",
    [
        "begins_trace",
        "code_positions",
        "name_scopes",
        "print_jaxpr",
        "push_scope",
        "short_aval",
        "traceback_of",
        "with_mark",
    ],
)
def test_whatever_private_name_is_gone_the_program_compiles_and_texts_come(name, monkeypatch):
    def gone(*_, **__):
        raise AttributeError(f"{name} is gone")

    break_private(monkeypatch, name, gone)
    f = jax.jit(lambda x: jnp.sin(x) + 1)
    traced = f.trace(jnp.ones(3))
    tagged = tag(traced, SourceFiles())
    lowered = traced.lower()
    compiled = lowered.compile()
    handles = Handles(traced, lowered, compiled, tagged)
    stages = {kind: handles.text(kind) for kind in StageKind}
    assert stages[StageKind.OPTIMIZED_HLO].text
    assert stages[StageKind.STABLEHLO].text
    if stages[StageKind.JAXPR].unavailable is not None:
        assert "gone" in stages[StageKind.JAXPR].unavailable.reason
    # What is not certain says so.
    assert not tagged.hash or not tagged.why
    np.testing.assert_allclose(f(jnp.ones(3)), np.sin(1) + np.ones(3), rtol=1e-6)
