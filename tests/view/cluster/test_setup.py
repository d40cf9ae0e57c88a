"""The state of a cluster as a document."""

from jaxscope.model.cluster import ProcessSetup
from jaxscope.results.cluster import ClusterStatus, Preflight


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
    assert "process 0 poisoned warn 3 1 100 ms" in text
    assert "process 1 busy" in text


def setup(process: int, jax: str = "0.10.2", cache: str = "/c") -> ProcessSetup:
    facts = (("jax", jax), ("cache directory", cache))
    own = (("host", f"h{process // 8}"), ("process id", str(5000 + process)))
    settings = (("jax_enable_x64", str(process == 17)), ("jax_debug_nans", "False"))
    return ProcessSetup(process, facts, settings, own)


def test_of_few_processes_each_has_a_column() -> None:
    text = Preflight([setup(i, "0.9.2" if i == 1 else "0.10.2") for i in range(3)]).to_text()
    rows = [line.split() for line in text.splitlines()]
    assert ["jax", "0.10.2", "≠", "0.9.2", "0.10.2"] in rows
    assert ["host", "h0", "h0", "h0"] in rows


def test_of_many_processes_the_frequent_value_is_shown_and_those_that_differ() -> None:
    setups = [setup(i, "0.9.2" if i == 17 else "0.10.2", f"/tmp/{i}") for i in range(1000)]
    found = Preflight(setups)
    assert found.differences == ("jax", "cache directory", "jax_enable_x64")
    lines = [" ".join(line.split()) for line in found.to_text(width=300).splitlines()]
    assert "jax 0.10.2 999 of 1000 ≠ process 17: 0.9.2" in lines
    assert "jax_enable_x64 False 999 of 1000 ≠ process 17: True" in lines
    assert "host 125 values" in lines
    assert any(line.endswith("process 3: /tmp/3; 996 more values") for line in lines)
    assert len(found.static_html().encode()) < 50_000
    equal = Preflight([setup(i) for i in range(1000) if i != 17])
    assert "Pre-flight · 999 processes · all equal" in equal.to_text(width=100)
    one = Preflight([setup(i, "0.9.2" if i == 17 else "0.10.2") for i in range(1000)])
    assert "999 of 1000 same · different: jax and jax_enable_x64" in one.summary()
