"""The pytest plugin, in pytest runs of its own."""

from __future__ import annotations

import importlib.metadata
import textwrap

import jax
import numpy as np
import pytest

import jaxscope

pytest_plugins = ("pytester",)

INSTALLED = any(
    entry.value == "jaxscope.testing.pytest_plugin"
    for entry in importlib.metadata.entry_points(group="pytest11")
)
PLUGIN = () if INSTALLED else ("-p", "jaxscope.testing.pytest_plugin")

# pytester forgets the modules that a run in this process has loaded, and jax loads only once.
with jaxscope.watch() as _log:
    jax.jit(lambda x: x + 1)(np.ones(3))
_log.to_text()

TRAINING = """
    import jax
    import numpy as np
    import pytest


    def fresh():
        @jax.jit
        def step(x):
            return x * 2.0

        return step


    def batches():
        return [np.ones(n, np.float32) for n in (8, 8, 5)]
"""


def run(pytester: pytest.Pytester, test: str, *options: str) -> pytest.RunResult:
    pytester.makepyfile(test_it=textwrap.dedent(TRAINING) + textwrap.dedent(test))
    plain = ("-p", "no:cacheprovider", "-p", "no:playwright")
    return pytester.runpytest_inprocess(*PLUGIN, *plain, *options)


def test_a_test_that_compiles_too_often_fails_with_the_explanation(
    pytester: pytest.Pytester,
) -> None:
    result = run(
        pytester,
        """
        @pytest.mark.jaxscope(max_compiles=1)
        def test_epoch():
            step = fresh()
            for batch in batches():
                step(batch)
        """,
    )
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "Expected at most 1 compile, but there were 2.",
            "  1. step at test_it.py:*: first * with x: f32[[]8[]]",
            "       step(batch)",
            "  2. step at test_it.py:*: The shape of `x` changed: f32[[]8[]] →*",
            "*→ Pad `x` to*",
        ]
    )
    result.stdout.no_fnmatch_line("*pytest_plugin.py*")


def test_a_test_within_its_bound_passes_and_the_bound_counts_what_is_asked(
    pytester: pytest.Pytester,
) -> None:
    result = run(
        pytester,
        """
        @pytest.mark.jaxscope(max_compiles=2)
        def test_two():
            step = fresh()
            for batch in batches():
                step(batch)

        @pytest.mark.jaxscope(max_compiles=0, function="other")
        def test_other_functions_do_not_count():
            fresh()(batches()[0])

        @pytest.mark.jaxscope(max_compiles=0)
        def test_single_operations_do_not_count():
            jax.lax.tan(np.ones((3, 7, 11), np.float32))

        @pytest.mark.jaxscope(max_compiles=0, eager=True)
        def test_unless_asked_for():
            jax.lax.tan(np.ones((3, 7, 13), np.float32))

        def test_without_a_marker():
            fresh()(batches()[0])
        """,
    )
    result.assert_outcomes(passed=4, failed=1)
    result.stdout.fnmatch_lines(["FAILED *::test_unless_asked_for*Expected no compile*"])


def test_the_error_of_a_test_is_its_own(pytester: pytest.Pytester) -> None:
    result = run(
        pytester,
        """
        @pytest.mark.jaxscope(max_compiles=0)
        def test_wrong():
            fresh()(batches()[0])
            assert 1 == 2
        """,
    )
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*assert 1 == 2*"])
    result.stdout.no_fnmatch_line("*Expected no compile*")


def test_a_wrong_marker_is_told_in_a_sentence(pytester: pytest.Pytester) -> None:
    result = run(
        pytester,
        """
        @pytest.mark.jaxscope(max_compiles="many")
        def test_a(): pass

        @pytest.mark.jaxscope(max_compiles=-1)
        def test_b(): pass

        @pytest.mark.jaxscope(3)
        def test_c(): pass

        @pytest.mark.jaxscope(most=3)
        def test_d(): pass
        """,
    )
    result.assert_outcomes(failed=4)
    number = "The marker jaxscope needs a number of compiles, 0 or more, for max_compiles, but got"
    known = "The marker jaxscope takes eager, function, max_compiles by keyword, but got"
    result.stdout.fnmatch_lines(
        [f"{number} 'many'*", f"{number} -1*", f"{known} 3*", f"{known} most*"]
    )


def test_the_summary_names_the_tests_that_compile(pytester: pytest.Pytester) -> None:
    result = run(
        pytester,
        """
        @pytest.fixture
        def warm():
            return fresh()(batches()[0])

        def test_epoch(warm):
            step = fresh()
            for batch in batches():
                step(batch)

        def test_nothing():
            pass
        """,
        "--jaxscope-compiles",
    )
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(
        [
            "*compiles by test*",
            "3 compiles in * by 1 test, 2 of them again",
            "compiles  again      time  test",
            "       3      2 *  test_it.py::test_epoch",
            "* at test_it.py:* → *",
        ]
    )
    result.stdout.no_fnmatch_line("*test_nothing*")


def test_without_the_option_there_is_no_summary(pytester: pytest.Pytester) -> None:
    result = run(pytester, "def test_it():\n    fresh()(batches()[0])\n")
    result.assert_outcomes(passed=1)
    result.stdout.no_fnmatch_line("*compiles by test*")


def test_a_run_that_compiles_nothing_says_so_and_loads_no_jax(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Plugins of other packages load jax.
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    pytester.makepyfile(
        """
        import sys
        import pytest

        @pytest.mark.jaxscope(max_compiles=0)
        def test_it():
            assert not {"jax", "numpy", "IPython", "plotly", "pandas"} & set(sys.modules)
        """
    )
    ours = ("-p", "jaxscope.testing.pytest_plugin", "-p", "no:cacheprovider")
    result = pytester.runpytest_subprocess(*ours, "--jaxscope-compiles")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["No test compiled anything."])


def test_a_test_that_imports_jax_itself_is_heard_in_a_worker(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    pytester.makepyfile(
        """
        import pytest

        def compiles():
            import jax
            import numpy as np

            jax.jit(lambda x: x + 1)(np.ones(3))
            jax.jit(lambda x: x + 2)(np.ones(3))

        def test_free():
            compiles()

        @pytest.mark.jaxscope(max_compiles=1)
        def test_bound():
            compiles()
        """
    )
    ours = ("-p", "jaxscope.testing.pytest_plugin", "-p", "xdist.plugin", "-p", "no:cacheprovider")
    result = pytester.runpytest_subprocess(*ours, "--jaxscope-compiles", "-n", "1")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines_random(
        [
            "Expected at most 1 compile, but there were 2.",
            "4 compiles in * by 2 tests*",
        ]
    )
