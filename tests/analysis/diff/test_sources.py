"""Which sources of two reports are compared, and what counts as a change."""

from __future__ import annotations

from jaxscope.analysis.diff.sources import pair_sources
from jaxscope.model import Source, SourceKind

STEP = """loss, grads = value_and_grad(loss_fn)(model, x)
optimizer.update(model, grads)
loss"""
CELL = Source("cell", "cell", SourceKind.CELL, f"%%jaxjit --block\n{STEP}")
CALL = Source("cell", "cell", SourceKind.CELL, "%%jaxjit\nloss = step(model, optimizer, x)")


def function(body: str) -> Source:
    """A cell that defines a jitted function of these lines, and calls it."""
    *first, last = body.splitlines()
    lines = [f"    {line}" for line in (*first, f"return {last}")]
    text = "\n".join(
        ["@nnx.jit", "def step(model, optimizer, x):", *lines, "%jaxjit step(m, o, x)"]
    )
    return Source("In [4]", "in-4", SourceKind.OTHER_CELL, text)


def test_the_same_lines_in_a_function_are_no_change() -> None:
    found = pair_sources((CELL,), (function(STEP),))
    assert found.diffs == ()
    assert [found.later(0, line) for line in (2, 3, 4)] == [(0, 3), (0, 4), (0, 5)]


def test_a_line_that_was_edited_on_the_way_into_a_function_is_a_change() -> None:
    edited = STEP.replace("grads)", "grads * 2)")
    (diff,) = pair_sources((CELL,), (function(edited),)).diffs
    (change,) = diff.changes
    assert change.old == "optimizer.update(model, grads)"
    assert change.new == "    optimizer.update(model, grads * 2)"


def test_changes_are_in_the_order_of_the_lines() -> None:
    old, new = (
        Source("cell", "cell", SourceKind.CELL, text)
        for text in (
            "%%jaxjit --profile -o a\nh = layer(x)\nfor i in x:\n    h = f(h)\nlast = h.sum() + 1",
            "%%jaxjit -o b\nother = q[0]\nlast = h.sum() + 2",
        )
    )
    (diff,) = pair_sources((old,), (new,)).diffs
    assert [(c.before, c.after) for c in diff.changes] == [
        (1, 1), (2, None), (3, None), (4, None), (None, 2), (5, 3),
    ]  # fmt: skip


def test_a_function_is_found_behind_the_cell_that_calls_it() -> None:
    found = pair_sources((function(STEP),), (CALL, function(STEP)))
    assert found.partner == {0: 1}
    assert found.diffs == ()
    back = pair_sources((CALL, function(STEP)), (function(STEP),))
    assert back.partner == {1: 0}
    # Of two cells, the cells are compared.
    assert pair_sources((CELL,), (CALL, function(STEP))).partner == {0: 0}
