"""Functions that had run before jaxscope saw them."""

from __future__ import annotations

import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxscope
from jaxscope.capture.program import linked_again
from jaxscope.model import FindingKind

AGAIN = "compiled again to link lines"


@pytest.fixture
def ran() -> Any:
    """A jitted function and an argument that it has been called with."""

    @jax.jit
    def step(v: jax.Array) -> jax.Array:
        def body(total: jax.Array, row: jax.Array) -> tuple[jax.Array, jax.Array]:
            return total + jnp.tanh(row), total

        last, rows = jax.lax.scan(body, v[0], jnp.sin(v) @ v)
        return last.sum() + rows.sum()

    argument = jnp.ones((8, 8))
    step(argument)
    return step, argument


def notes(report: jaxscope.Report) -> list[str]:
    return [note for note in report.record.notes if AGAIN in note]


def test_the_lines_of_a_function_that_has_run_are_linked_exactly(ran: Any) -> None:
    step, argument = ran
    report = jaxscope.inspect(step, argument)
    assert report.programs[0].exact
    assert len(notes(report)) == 1
    kinds = {finding.kind for finding in report.findings}
    assert FindingKind.APPROXIMATE_SOURCE_MAPPING not in kinds
    # What runs is what had been compiled: nothing of this is a compilation of the user's.
    assert report.compiles == ()


def test_the_lines_of_a_scan_in_a_scan_are_linked_exactly() -> None:
    @jax.jit
    def train(w: jax.Array, batches: jax.Array) -> tuple[jax.Array, jax.Array]:
        def step(w: jax.Array, x: jax.Array) -> tuple[jax.Array, jax.Array]:
            y = jnp.tanh(x @ w)
            return w + 1, y[0, 0]

        def epoch(w: jax.Array, _: None) -> tuple[jax.Array, jax.Array]:
            return jax.lax.scan(step, w, batches)

        return jax.lax.scan(epoch, w, None, length=3)

    arguments = jnp.ones((16, 16)), jnp.ones((4, 8, 16))
    train(*arguments)
    report = jaxscope.inspect(train, *arguments)
    assert len(notes(report)) == 1
    source = report.sources[0].text.splitlines()
    lines = report.to_dataframe("lines")
    most = lines.loc[lines["flops"].idxmax()]
    assert "x @ w" in source[int(most["line"]) - 1]
    assert most["flops"] == 3 * 4 * 2 * 8 * 16 * 16


def test_tags_of_another_program_inside_of_it_are_no_links() -> None:
    # JAX traces jnp.std once, so its jaxpr has the tags of the first report.
    inner = jax.jit(lambda v: jnp.tanh(v).std())
    jaxscope.inspect(lambda v: inner(v) + 1, jnp.ones((8, 8)))
    step = jax.jit(lambda v: inner(v) * jnp.sin(v))
    step(jnp.ones((8, 8)))
    report = jaxscope.inspect(step, jnp.ones((8, 8)))
    assert report.programs[0].exact
    assert len(notes(report)) == 1


def test_the_second_report_of_it_compiles_nothing(ran: Any) -> None:
    step, argument = ran
    jaxscope.inspect(step, argument)
    again = jaxscope.inspect(step, argument)
    assert again.programs[0].exact
    assert notes(again) == []


def test_on_request_it_is_not_compiled_again(ran: Any) -> None:
    step, argument = ran
    with jaxscope.options(recompile=False):
        report = jaxscope.inspect(step, argument)
    assert not report.programs[0].exact
    assert notes(report) == []


def test_a_function_that_has_not_run_is_compiled_once() -> None:
    report = jaxscope.inspect(jax.jit(lambda v: jnp.sin(v) * 2), jnp.ones(3))
    assert len(report.compiles) == 1
    assert notes(report) == []


def test_donated_and_static_arguments_stay_as_they_are() -> None:
    @partial(jax.jit, donate_argnums=0, static_argnums=1)
    def scaled(v: jax.Array, n: int) -> jax.Array:
        return jnp.cumsum(v) * n

    scaled(jnp.ones(16), 3)
    report = jaxscope.inspect(scaled, jnp.ones(16), 3)
    assert report.programs[0].exact
    np.testing.assert_array_equal(scaled(jnp.ones(4), 2), [2, 4, 6, 8])


def test_links_stay_approximate_where_xla_made_another_program(
    ran: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = iter(["one", "another"])
    monkeypatch.setattr(linked_again, "_computed", lambda text: next(texts))
    report = jaxscope.inspect(*ran)
    assert not report.programs[0].exact
    assert notes(report) == []


def test_links_stay_approximate_on_a_jax_that_cannot_lower_again(
    ran: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("jaxscope.capture._jax.lowered_anew", lambda traced: None)
    assert not jaxscope.inspect(*ran).programs[0].exact


PERSISTENT = """
import sys
import jax, jax.numpy as jnp
jax.config.update("jax_compilation_cache_dir", sys.argv[1])
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
jax.config.update("jax_persistent_cache_min_entry_size_bytes", 0)
@jax.jit
def program(x):
    y = jnp.sin(x)
    return y * jnp.cumsum(jnp.cos(x))
if sys.argv[2] == "plain":
    program(jnp.ones(64))
    sys.exit()
import jaxscope
if sys.argv[2] == "ran":
    program(jnp.ones(64))
report = jaxscope.inspect(program, jnp.ones(64))
(one,) = report.programs
notes = [note for note in report.record.notes if "compiled again" in note]
hits = sum(c.persistent == "hit" for c in report.compiles)
inexact = [f for f in report.findings if f.kind == "approximate_source_mapping"]
print(one.exact, len(notes), hits, len(inexact))
"""


@pytest.mark.parametrize(
    ("first", "then", "hits"), [("plain", "new", 1), ("plain", "ran", 0), ("edited", "new", 1)]
)
def test_a_program_of_the_persistent_cache_is_linked_exactly(
    tmp_path: Path, first: str, then: str, hits: int
) -> None:
    """Stored without tags by a process without jaxscope, or with those of an older text."""
    file, cache = tmp_path / "program.py", str(tmp_path / "cache")
    older = PERSISTENT.replace("    y = jnp.sin(x)", "    k = 3\n    y = jnp.sin(x)")
    file.write_text(older if first == "edited" else PERSISTENT)
    run_file(file, cache, "new" if first == "edited" else first)
    file.write_text(PERSISTENT)
    assert run_file(file, cache, then).split() == ["True", "1", str(hits), "0"]


def run_file(file: Path, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, str(file), *arguments], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_metadata_is_no_part_of_what_a_program_computes() -> None:
    line = '  a = f32[3] add(b, c), metadata={op_name="jit(f)/x{1}" source_line=3}, backend={}'
    assert linked_again._computed(line) == "  a = f32[3] add(b, c), backend={}\n"


MODULE = """HloModule jit_f, entry_computation_layout={(f32[8]{0})->f32[8]{0}}

ENTRY %main.3 (v: f32[8]) -> f32[8] {
  %v = f32[8]{0} parameter(0)
  %sine.4 = f32[8]{0} sine(%v), metadata={op_name="jit(f)/sin"}
  ROOT %add.9 = f32[8]{0} add(%sine.4, %v), metadata={op_name="jit(f)/add"}
}
"""


def test_a_program_with_other_names_is_given_those_of_what_ran() -> None:
    tagged = MODULE.replace("sine.4", "sine.11").replace("add.9", "add.13").replace("(f)", "(tag)")
    made = linked_again._renamed(tagged, MODULE)
    assert made is not None
    assert "%sine.4 = f32[8]{0} sine(%v), metadata={op_name=" in made
    assert 'op_name="jit(tag)/add"' in made
    assert "11" not in made
    other = tagged.replace("add(%sine.11, %v)", "add(%v, %v)")
    assert linked_again._renamed(other, MODULE) is None
