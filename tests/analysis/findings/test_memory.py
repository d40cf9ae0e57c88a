"""The finding that a checkpoint would save much memory: when it fires, and when not."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import pytest

import jaxscope
from jaxscope.analysis.findings import Evidence, findings
from jaxscope.analysis.findings.memory import checkpoints
from jaxscope.model import Checkpoint, FindingKind, Memory
from tests.analysis.findings.wording import assert_reads_well

pytestmark = pytest.mark.jax

WIDE, LAYERS, BATCH = 512, 12, 16_384


def block(x, w):
    return jnp.sin(jnp.tanh(x @ w)), None


def step(ws, x):
    return jax.grad(lambda ws: jnp.mean(jax.lax.scan(block, x, ws)[0] ** 2))(ws)


@pytest.fixture(scope="module")
def report():
    """Compiled for shapes of half a gigabyte, not run."""
    shapes = (LAYERS, WIDE, WIDE), (BATCH, WIDE)
    return jaxscope.inspect(jax.jit(step), *[jax.ShapeDtypeStruct(s, jnp.float32) for s in shapes])


def of(record):
    found = findings(Evidence(record), (checkpoints,))
    for finding in found:
        assert_reads_well(finding)
    return list(found)


def test_a_scan_that_fills_the_memory_is_reported_with_its_line(report):
    [found] = [f for f in report.findings if f.kind is FindingKind.SAVED_RESIDUALS]
    lines = report.sources[found.source].lines
    assert "jnp.tanh(x @ w)" in lines[found.line - 1]
    assert found.message == (
        "The forward pass saves the residuals of all 12 calls of `block` for the backward pass."
    )
    assert found.fix.startswith("Use `jax.checkpoint(block)`, which recomputes them")
    assert found.evidence.startswith("Estimate: ")
    assert found.evidence.endswith("% more FLOPs.")


def changed(report, **changes):
    """The record, its only advice or its memory changed."""
    program = report.programs[0]
    advice = program.gradient.checkpoints[0]
    memory = changes.pop("memory", program.memory)
    devices = changes.pop("devices", program.devices)
    known = replace(program.gradient, checkpoints=(replace(advice, **changes),))
    changed = replace(program, gradient=known, memory=memory, devices=devices)
    return replace(report.record, programs=(changed,))


def test_a_small_costly_or_ineffective_checkpoint_is_not_reported(report):
    assert isinstance(report.programs[0].gradient.checkpoints[0], Checkpoint)
    assert len(of(changed(report))) == 1
    assert of(changed(report, freed_bytes=255_000_000)) == []
    assert of(changed(report, memory=Memory(0, 0, 0, 0, 10**10))) == []
    every = report.gradient.forward_flops + report.gradient.backward_flops
    assert of(changed(report, flops=0.6 * every)) == []
    assert of(changed(report, loop=False)) == []
    assert len(of(changed(report, loop=False, devices=("gpu:0",)))) == 1


def test_without_a_gradient_or_its_memory_there_is_no_finding(report):
    program = replace(report.programs[0], gradient=None)
    assert of(replace(report.record, programs=(program,))) == []
    from jaxscope.model import Unavailable

    assert of(changed(report, memory=Unavailable("not asked for"))) == []
