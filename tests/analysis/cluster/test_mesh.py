"""Implementations over one mesh: a call lasts until the last process, and who may be ranked."""

import pytest

from jaxscope.analysis.cluster.mesh import MeshRow, mesh_unranked
from jaxscope.model.cluster import MeshCalls


def row(label: str, *prints: str, samples=((1.0, 2.0), (3.0, 1.0))) -> MeshRow:
    prints = prints or ("a", "a")
    return MeshRow(
        label,
        tuple(MeshCalls(i, samples[i], fingerprint=one) for i, one in enumerate(prints)),
    )


def test_a_call_lasts_until_the_last_process_has_its_result() -> None:
    found = row("jax")
    assert found.samples == (3.0, 2.0)
    assert found.medians is not None
    assert found.medians.highest == 1


@pytest.mark.parametrize(
    ("rows", "norms", "words"),
    [
        ([row("a"), row("b", "b", "b")], {"a": (1.0,), "b": (1.0 + 1e-7,)}, ""),
        ([row("a"), row("b")], {"a": (1.0,), "b": (1.1,)}, "The results of `a` and `b` differ"),
        ([row("a"), row("b")], {"a": (1.0,)}, "could not be compared"),
        ([row("a", "a", "b")], {"a": (1.0,)}, "The programs of `a` differ: a on process 0 and b"),
        ([row("a", samples=((), ()))], {"a": (1.0,)}, "`a` was not measured"),
    ],
)
def test_rows_are_ranked_only_where_programs_and_results_agree(rows, norms, words) -> None:
    found = mesh_unranked(rows, norms)
    assert words in found
    assert bool(found) == bool(words)
