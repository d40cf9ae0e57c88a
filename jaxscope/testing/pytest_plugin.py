"""pytest plugin: `--jaxscope-compiles`, and the marker `jaxscope(max_compiles=…)`.

Loads nothing unless one of the two is used, and never imports jax: it listens once the tests have
imported it.
"""

from __future__ import annotations

import contextlib
import itertools
import sys
from collections.abc import Generator
from typing import TYPE_CHECKING, Any, TypedDict

import pytest

from jaxscope import background

if TYPE_CHECKING:
    from jaxscope.results.compile_log import CompileLog

# The plugin is there for every test of everybody: it observes nothing that is not asked for.
background.stop()

MARKER = "jaxscope"
_OPTION = "--jaxscope-compiles"
_MOST_TESTS = 20
"""Tests in the summary; `-v` shows all."""
_ATTRIBUTE = "jaxscope_compiles"


class Figures(TypedDict):
    """Compilations of one phase of one test: plain data, which xdist sends between processes."""

    compiles: int
    again: int
    seconds: float
    slowest: float
    """Seconds of the row that `why` is about."""
    why: str
    unobserved: str
    """The note that compilations may be missing; empty when there is none."""


_FIGURES = pytest.StashKey[Figures]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--jaxscope-compiles`."""
    parser.getgroup("jaxscope").addoption(
        _OPTION,
        action="store_true",
        default=False,
        help="Show at the end the compilations of each test: number, seconds, causes.",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker and the hooks."""
    config.addinivalue_line(
        "markers",
        f"{MARKER}(max_compiles=1, function=None, eager=False): fail the test if JAX compiles more "
        "often while it runs; the failure lists the compilations with causes and fixes.",
    )
    config.pluginmanager.register(_Compiles(bool(config.getoption(_OPTION))), "jaxscope-compiles")


class _Compiles:
    """The hooks, and the observed compilations."""

    def __init__(self, summary: bool) -> None:
        self._summary = summary
        self._stack = contextlib.ExitStack()
        self._listening = False

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Generator[None, Any, Any]:
        with self._observed(item) if self._summary else contextlib.nullcontext():
            return (yield)

    pytest_runtest_teardown = pytest_runtest_setup

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, Any, Any]:
        marker = item.get_closest_marker(MARKER)
        if marker is None and not self._summary:
            return (yield)
        if marker is not None:
            _check_marker(marker)
        with self._observed(item) as logs:
            result = yield
        if marker is not None:
            for log in logs:
                _judge(log, marker)
        return result

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        figures = item.stash.get(_FIGURES, None)
        if figures is not None and (figures["compiles"] or figures["unobserved"]):
            setattr(report, _ATTRIBUTE, dict(figures))
            del item.stash[_FIGURES]
        return report

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        if self._summary:
            _write_summary(terminalreporter)

    def pytest_unconfigure(self) -> None:
        self._stack.close()

    @contextlib.contextmanager
    def _observed(self, item: pytest.Item) -> Generator[list[CompileLog]]:
        """The log of the block, in a list that stays empty if jax is never imported."""
        from jaxscope.jax_import import on_arrival

        logs: list[CompileLog] = []
        with contextlib.ExitStack() as stack:

            def listen() -> None:
                from jaxscope.results.compile_log import watching

                if not self._listening:
                    # One listener for the whole session, with the compilations of earlier tests.
                    self._listening = True
                    self._stack.enter_context(watching())
                logs.append(stack.enter_context(watching()))

            if "jax" in sys.modules:
                listen()
            else:
                stack.enter_context(on_arrival(listen))
            try:
                yield logs
            finally:
                if logs:
                    item.stash[_FIGURES] = _figures(logs[0])


def _figures(log: CompileLog) -> Figures:
    from jaxscope.model.compiles import unobserved
    from jaxscope.view.compiles.rows import rows

    data = log.log
    worst = max(
        (row for row in rows(data).rows if row.again), key=lambda row: row.seconds, default=None
    )
    why = ""
    if worst is not None:
        what = " ".join(filter(None, (worst.what, worst.times)))
        why = " → ".join(filter(None, (f"{what} at {worst.place}: {worst.why}", worst.fix)))
    return Figures(
        compiles=len(data.compiles),
        again=len(data.recompiles),
        seconds=data.total_s,
        slowest=worst.seconds if worst is not None else 0.0,
        why=why,
        unobserved=unobserved(data.notes),
    )


def _check_marker(marker: pytest.Mark) -> None:
    """Fail the test, in a sentence, for an invalid marker."""
    known = {"max_compiles", "function", "eager"}
    unknown = sorted(set(marker.kwargs) - known)
    most = marker.kwargs.get("max_compiles", 1)
    problem = ""
    if marker.args or unknown:
        got = ", ".join([*map(repr, marker.args), *unknown])
        problem = f"takes {', '.join(sorted(known))} by keyword, but got {got}"
    elif isinstance(most, bool) or not isinstance(most, int) or most < 0:
        problem = f"needs a number of compiles, 0 or more, for max_compiles, but got {most!r}"
    if problem:
        pytest.fail(
            f"The marker jaxscope {problem}: @pytest.mark.jaxscope(max_compiles=1).", pytrace=False
        )


def _judge(log: CompileLog, marker: pytest.Mark) -> None:
    from jaxscope.testing.expect import Bounds, function_name, verdict

    bounds = Bounds.of(marker.kwargs.get("max_compiles", 1), None, None)
    name = function_name(marker.kwargs.get("function"))
    message = verdict(log, bounds, name, bool(marker.kwargs.get("eager", False)))
    if message:
        pytest.fail(message, pytrace=False)


def _write_summary(terminalreporter: Any) -> None:
    from jaxscope.words import count, seconds

    by_test: dict[str, list[Figures]] = {}
    reports = itertools.chain.from_iterable(terminalreporter.stats.values())
    for report in filter(lambda one: hasattr(one, _ATTRIBUTE), reports):
        by_test.setdefault(report.nodeid, []).append(getattr(report, _ATTRIBUTE))
    write = terminalreporter.write_line
    terminalreporter.section("compiles by test")
    for note in sorted({one["unobserved"] for parts in by_test.values() for one in parts} - {""}):
        write(note)
    if not by_test:
        write("No test compiled anything.")
        return
    tests = sorted(by_test.items(), key=lambda entry: -_sum(entry[1], "seconds"))
    every = [figures for parts in by_test.values() for figures in parts]
    again = _sum(every, "again")
    write(
        f"{count(int(_sum(every, 'compiles')), 'compile')} in {seconds(_sum(every, 'seconds'))} by "
        f"{count(len(by_test), 'test')}" + (f", {int(again)} of them again" if again else "")
    )
    verbose = terminalreporter.config.get_verbosity() > 0
    shown = tests if verbose else tests[:_MOST_TESTS]
    write(f"{'compiles':>8} {'again':>6} {'time':>9}  test")
    for nodeid, parts in shown:
        number, more = int(_sum(parts, "compiles")), int(_sum(parts, "again"))
        time = seconds(_sum(parts, "seconds"))
        write(f"{number:>8} {more or '':>6} {time:>9}  {nodeid}")
        worst = max(parts, key=lambda figures: figures["slowest"])
        if worst["why"]:
            write(f"{'':>25}  {worst['why']}")
    if len(shown) < len(tests):
        write(f"{count(len(tests) - len(shown), 'more test')}; -v shows all.")


def _sum(parts: list[Figures], name: str) -> float:
    return float(sum(part[name] for part in parts))  # type: ignore[literal-required]
