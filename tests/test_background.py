"""Listening from `import jaxscope` on, in processes of their own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from typing import Any

import pytest

from jaxscope import background
from tests.paths import ROOT

PROGRAM = """
import json, sys
{imports}
import numpy as np

def make():
    return jax.jit(lambda x: x * 3)

kept = make()
kept(np.ones(3, np.float32))
logs = []
for size in (3, 4):
    with jaxscope.watch() as log:
        made = make()
        made(np.ones(size, np.float32))
    logs.append([[(c.kind, c.path, c.text) for c in one.causes] for one in log.compiles])
    assert log.notes == (), log.notes
from jax._src import monitoring
listeners = len(monitoring.get_scalar_listeners())
from jaxscope import background
background.stop()
print(json.dumps([logs, listeners, len(monitoring.get_scalar_listeners())]))
"""


def run(program: str) -> Any:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "JAX_PLATFORMS": "cpu"}
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        capture_output=True,
        text=True,
        env=environment,
        timeout=800,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.jax
@pytest.mark.parametrize("imports", ["import jaxscope, jax", "import jax, jaxscope"])
def test_a_watch_after_the_warm_up_knows_it_and_a_second_one_knows_the_first(imports: str) -> None:
    (first, second), listeners, after = run(PROGRAM.format(imports=imports))
    (function,), (again,) = [
        [one for one in log if one[0][1] == "<lambda>"] for log in (first, second)
    ]
    assert [kind for kind, *_ in function] == ["new_function"]
    assert "has the code of an earlier function" in function[0][2]
    assert [kind for kind, *_ in again] == ["new_function", "shape"]
    assert "f32[3] → f32[4]" in again[1][2]
    # Two blocks, and one listener: it is the same that began with the import.
    assert (listeners, after) == (1, 0)


@pytest.mark.jax
def test_what_compiles_first_in_a_process_is_said_to_be_the_first() -> None:
    program = """
    import json
    import jaxscope, jax
    import numpy as np
    with jaxscope.watch() as log:
        jax.jit(lambda x: x + 1)(np.ones(3))
    print(json.dumps([c.text for one in log.compiles for c in one.causes]))
    """
    assert run(program) == ["`<lambda>` was compiled for the first time."]


def test_without_jax_nothing_is_loaded() -> None:
    program = """
    import json, sys
    import jaxscope
    print(json.dumps([sorted({"jax", "numpy"} & set(sys.modules)), len(sys.meta_path)]))
    jaxscope.background.stop()
    print(json.dumps([sorted({"jax", "numpy"} & set(sys.modules)), len(sys.meta_path)]))
    """
    bare = run("import json, sys\nprint(json.dumps(len(sys.meta_path)))")
    assert run(program) == [[], bare]


def test_the_pytest_plugin_listens_to_nothing_that_is_not_asked_for() -> None:
    assert not background.listening()


@pytest.mark.jax
@pytest.mark.parametrize("block", ["watch()", "expect_compiles(2)"])
def test_a_block_that_is_open_before_jax_is_imported_is_known_to_later_ones(block: str) -> None:
    """A module that is imported late, with functions that make a new lambda in each call."""
    program = f"""
    import json, jaxscope

    def step():
        import jax, numpy as np
        jax.jit(lambda x: x * 3)(np.ones(3, np.float32))

    with jaxscope.{block} as log:
        step(), step()
    with jaxscope.watch() as log:
        step()
    print(json.dumps([c.kind for one in log.compiles for c in one.causes]))
    """
    assert run(program) in (["new_function"], ["function_collected"])
