"""The state of a cluster as a document."""

from jaxscope.results.cluster import ClusterStatus


def test_a_divergence_is_one_sentence_and_the_lines_of_the_processes() -> None:
    message = (
        "Process 0 compiles `a` where process 1 compiles `b`: the order of calls differs."
        "\n  process 0 at a.py:1 `f(x)`\n  process 1 at a.py:2 `g(x)`"
    )
    state = {
        "process": 0,
        "watching": True,
        "poisoned": True,
        "guard": "warn",
        "compared": 3,
        "divergences": [message],
        "seconds": 0.1,
    }
    text = " ".join(ClusterStatus([state], [1]).to_text(width=400).split())
    assert "differs. Process 0 at a.py:1 `f(x)`; process 1 at a.py:2 `g(x)`" in text
    assert "0 poisoned warn 3 1 100 ms" in text
    assert "1 busy" in text
