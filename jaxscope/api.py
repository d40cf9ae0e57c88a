"""The public functions: the work of every magic, for scripts and tests."""

from __future__ import annotations

import contextlib
import contextvars
import dataclasses
from collections.abc import Callable, Generator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jaxscope.results.base import read
from jaxscope.results.report import Report, keep_latest, latest

if TYPE_CHECKING:
    from jaxscope.capture.options.settings import Settings
    from jaxscope.results.comparison import Comparison
    from jaxscope.results.compile_log import CompileLog
    from jaxscope.results.mode_comparison import ModeComparison
    from jaxscope.results.report_diff import ReportDiff
    from jaxscope.results.target_table import TargetTable
    from jaxscope.testing.expect import Expected

_OPTIONS: contextvars.ContextVar[dict[str, Any]] = contextvars.ContextVar("jaxscope_options")


def inspect(f: Any, /, *args: Any, **kwargs: Any) -> Report:
    """Compile `f` for these arguments, run it, and report its program, time and cost.

    `f` may be a plain function, a jitted one, or JAX's own `Traced`, `Lowered` or `Compiled`. These
    three are not recompiled, and run only if arguments are given. With `jax.ShapeDtypeStruct` as
    arguments the program is compiled but not run. All keyword arguments go to `f`; settings come
    from `jaxscope.options`.

    A plain function follows the rule of the block form: arrays and floats are traced; ints, bools,
    strings and other objects are static. A jitted one keeps its own `static_argnums`.

    Raises what `f` raises while it is traced, what JAX raises for it, and TypeError when `f` cannot
    be compiled.

    Example:
        >>> report = jaxscope.inspect(lambda x: (x - x.mean()) / x.std(), jnp.ones(1000))
        >>> print(report.summary())
    """
    __tracebackhide__ = True
    # The options of `profile` do not apply here.
    return _reported(f, args, kwargs, dataclasses.replace(_settings(), profile=None))


def profile(f: Any, /, *args: Any, **kwargs: Any) -> Report:
    """Profile `f` by line of Python and by HLO instruction.

    Like `inspect`; then calls the compiled program some 50 times with JAX's profiler, in five
    sessions, and as often without it, for at most 5 s. A program with effects (a callback,
    `jax.debug.print`) runs once, and that run is profiled; donated inputs are copied for the
    others.

    The report's `time_by_line()` and `time_by_op()` are seconds per call, `coverage` is the share
    of a call inside instructions. Where XLA fuses several lines into one instruction, only their
    sum is measured: it is in `report.profile.joint`, and each of its lines has a bracket.

    Raises what `inspect` raises. A profiler that fails is reported in the report.

    Example:
        >>> report = jaxscope.profile(train_step, params, batch)
        >>> report.time_by_line()
    """
    from jaxscope.capture.options.profile_plan import ProfilePlan

    __tracebackhide__ = True
    settings = _settings()
    plan = settings.profile or ProfilePlan()
    return _reported(f, args, kwargs, dataclasses.replace(settings, profile=plan))


def _reported(f: Any, args: tuple[Any, ...], kwargs: dict[str, Any], settings: Settings) -> Report:
    __tracebackhide__ = True
    from jaxscope.capture.options import error_origin
    from jaxscope.capture.options.refusals import RefusedError
    from jaxscope.capture.run import run

    try:
        ran = run.call(f, args, kwargs, settings)
    except RefusedError as error:
        raise error.with_traceback(None) from None
    except Exception as error:
        if not error_origin.is_ours(error, ""):
            error.__traceback__ = error_origin.without_ours(error.__traceback__)
        raise
    report = Report(ran.record, ran.texts, ran.origin)
    keep_latest(report)
    return report


@contextlib.contextmanager
def options(
    *,
    runs: int | None = None,
    device: str | None = None,
    x64: bool | None = None,
    static: str | tuple[str, ...] = (),
    traced: str | tuple[str, ...] = (),
    donate: str | tuple[str, ...] = (),
    recompile: bool | None = None,
    exact: bool | None = None,
    compile_time: bool | None = None,
    target: str | None = None,
    mesh: str | Mapping[str, int] | None = None,
    specs: Mapping[str, Any] | None = None,
    isolate_lines: bool | None = None,
    all_events: bool | None = None,
    wait: float | None = None,
) -> Generator[None]:
    """Settings for the calls of `inspect` inside the block; blocks nest, the inner one wins.

    runs: None repeats for at most half a second, 0 compiles only, N runs exactly N times.
    device: `cpu:1`, `gpu`. static, traced, donate: names of `f`'s parameters. recompile: False does
    not compile a function that has run before again, so that the links of its lines are
    approximate. exact: True compiles once more to follow the passes of XLA, and so to settle links
    that are otherwise inferred. compile_time: True clocks the compilation for
    `report.compile_time()`. target: `tpu:v5e:2x2`, `gpu:h100`, `cpu:4`: compile for this device,
    whether it is there or not, and run nothing. mesh: `{"data": 2, "model": 2}`, a mesh over the
    target's devices; specs: the PartitionSpec of each input on it, by name. An input with a
    NamedSharding keeps its spec, others are replicated.

    For `profile`: isolate_lines also profiles the program with optimization barriers between its
    lines, which costs one more compilation; all_events also profiles a call with so many
    instructions that it takes long; wait is how many seconds another profiler session may take to
    end.

    Raises ValueError for a negative number of runs or of seconds.
    """
    from jaxscope.capture.options.profile_plan import ProfilePlan
    from jaxscope.capture.options.settings import Settings

    given: dict[str, Any] = {
        "runs": runs,
        "device": device,
        "x64": x64,
        "static": _names(static),
        "traced": _names(traced),
        "donate": _names(donate),
        "recompile": recompile,
        "exact": exact,
        "compile_time": compile_time,
        "target": target,
        "mesh": _mesh(mesh),
        "specs": tuple(_spec(name, spec) for name, spec in (specs or {}).items()),
    }
    chosen = {**_OPTIONS.get({}), **{k: v for k, v in given.items() if v is not None and v != ()}}
    asked = {"isolate_lines": isolate_lines, "all_events": all_events, "wait_s": wait}
    asked = {k: v for k, v in asked.items() if v is not None}
    if asked:
        if not asked.get("wait_s", 0.0) >= 0:
            raise ValueError(f"wait is {wait}; it must be 0 seconds or more.")
        chosen["profile"] = dataclasses.replace(chosen.get("profile") or ProfilePlan(), **asked)
    Settings(**chosen)
    token = _OPTIONS.set(chosen)
    try:
        yield
    finally:
        _OPTIONS.reset(token)


def _names(given: str | Sequence[str]) -> tuple[str, ...]:
    """Names of parameters; one string is one name, as in `static_argnames`."""
    return (given,) if isinstance(given, str) else tuple(given)


def _mesh(given: str | Mapping[str, int] | None) -> str | None:
    if given is None or isinstance(given, str):
        return given
    return ",".join(f"{name}={size}" for name, size in given.items())


def _spec(name: str, given: Any) -> str:
    """`x=data,None`, the form of `--spec`."""
    if isinstance(given, str):
        return f"{name}={given}"
    parts = ("None" if p is None else p if isinstance(p, str) else "+".join(p) for p in given)
    return f"{name}={','.join(parts)}"


def compare_targets(
    f: Any,
    /,
    *args: Any,
    targets: Sequence[str],
    meshes: Sequence[str | Mapping[str, int]] = (),
    **kwargs: Any,
) -> TargetTable:
    """Compile `f` for several targets, and over several meshes: fits, peak, FLOPs, collectives.

    Nothing runs. The rows are those of `%%jaxjit --target tpu:v5e,gpu:h100`; `table["tpu:v5e"]` is
    the report of one. A target that cannot be compiled for is a row with the reason. All other
    keyword arguments go to `f`; `jaxscope.options` applies.

    Raises what `f` raises while it is traced, and ValueError for a target that does not exist.

    Example:
        >>> table = jaxscope.compare_targets(step, params, batch, targets=["tpu:v5e", "gpu:h100"])
        >>> print(table.to_text())
    """
    from jaxscope.capture.options.settings import SettingsError
    from jaxscope.results.target_table import TargetRow, TargetTable

    rows: list[TargetRow] = []
    for target in targets:
        for mesh in meshes or (None,):
            with options(target=target, mesh=mesh):
                settings = _settings()
                name = str(settings.compiled_for and settings.compiled_for.name)
                if (name, settings.mesh) in [(row.target, row.mesh) for row in rows]:
                    continue  # on a mesh of four devices, `cpu` is `cpu:4`
                try:
                    report, why = inspect(f, *args, **kwargs), ""
                except SettingsError as error:
                    report, why = None, str(error)
                rows.append(TargetRow(name, settings.mesh, report, why))
    title = next((row.report.programs[0].title for row in rows if row.report), "")
    return TargetTable(rows, title)


@contextlib.contextmanager
def watch(*, slow_path: bool = False, compile_time: bool = False) -> Generator[CompileLog]:
    """A log of the compilations inside the block: where, why, how long, and the fix.

    All threads are observed; blocks may be nested, and run in several threads at once. The log can
    be read inside the block and after it. Exceptions of the block pass through, and the log is
    kept. If jaxscope itself fails, the block still runs, and `log.notes` has the reason.

    With `slow_path=True`, `log.slow_calls` has the calls that took the Python dispatch path though
    nothing compiled (callbacks, `jax_debug_nans`). That needs Python 3.12, and slows only those
    calls, by some 20 µs.

    With `compile_time=True`, `log.compile_time()` has the seconds of this thread's compilations by
    line and phase.

    Example:
        >>> with jaxscope.watch() as log:
        ...     train(batches)
        >>> print(log.to_text())
    """
    from jaxscope.results.compile_log import watching

    with watching(slow_path=slow_path, compile_time=compile_time) as log:
        yield log


def expect_compiles(
    at_most: int | None = None,
    *,
    at_least: int | None = None,
    exactly: int | None = None,
    function: str | Callable[..., Any] | None = None,
    eager: bool = False,
) -> Expected:
    """A guard for tests: the block, or each call of the function it decorates, compiles this often.

    at_most: 1 unless a bound is given. function: count the compilations of this function only, by
    its name. eager: also count single operations outside any jit; they are left out by default,
    because whether `jnp.ones(3)` compiles depends on earlier code of the process. Tasks and threads
    with guards of their own are not counted.

    Raises jaxscope.CompilesError, an AssertionError, at the end of the block; its text lists the
    compilations with causes and fixes. The block's own exceptions pass through instead.

    Example:
        >>> with jaxscope.expect_compiles(at_most=1):
        ...     for batch in batches:
        ...         state = step(state, batch)

        >>> @jaxscope.expect_compiles(at_most=2, function="step")
        ... def test_training(): ...
    """
    from jaxscope.testing.expect import Bounds, Expected

    return Expected(Bounds.of(at_most, at_least, exactly), function, eager)


def compare_modes(
    f: Any,
    /,
    *args: Any,
    argnums: int | tuple[int, ...] = 0,
    order: int = 0,
    time: bool = False,
    **kwargs: Any,
) -> ModeComparison:
    """Compare forward and reverse mode of `f` for the shape of its Jacobian.

    Both are traced and their FLOPs counted from the equations; nothing is compiled. `time` compiles
    and times both. `order` also shows the growth of the program from derivative to derivative, up
    to that order. All other keyword arguments go to `f`; `jaxscope.options` applies.

    Raises ValueError for arguments without a derivative, and what JAX raises for `f`.

    Example:
        >>> jaxscope.compare_modes(lambda x: jnp.sum(x**2), jnp.ones(1000)).fits
        'reverse'
    """
    from jaxscope.capture.program.compile import device_and_precision
    from jaxscope.capture.run.compare_modes import compare_modes as compare
    from jaxscope.results.mode_comparison import ModeComparison

    settings = _settings()
    with device_and_precision(settings):
        return ModeComparison(compare(f, args, kwargs, argnums, order, settings if time else None))


def diff(before: Report, after: Report) -> ReportDiff:
    """Differences between two reports: code, time, work, memory, findings and each stage.

    Stages are compared by structure, so that renumbered names and a different order are not
    changes. Changes are grouped by line of Python. A run is faster or slower only where the 95 %
    intervals of the two do not overlap. Texts that are unavailable are named.

    Raises TypeError for anything but reports.

    Example:
        >>> before = jaxscope.inspect(lambda x: jnp.sin(x), jnp.ones(1000))
        >>> after = jaxscope.inspect(lambda x: jnp.sin(x) * 2, jnp.ones(1000))
        >>> print(jaxscope.diff(before, after).summary())
    """
    from jaxscope.results.report_diff import compare_reports

    return compare_reports(before, after)


def last() -> Report:
    """The report of the last `%%jaxjit`, `%jaxjit` or `inspect` in this process.

    Raises LookupError when there is none yet.
    """
    report = latest()
    if report is None:
        raise LookupError("There is no report yet: run a %%jaxjit cell or jaxscope.inspect first.")
    return report


def load(path: str | Path) -> Report | CompileLog | Comparison | ReportDiff:
    """Read a report, compile log, comparison or diff that `save` wrote, without live programs.

    Raises FileNotFoundError, and jaxscope.model.SchemaError when the file is none of these or has a
    schema that this version does not read.
    """
    from jaxscope.results.comparison import Comparison
    from jaxscope.results.compile_log import CompileLog
    from jaxscope.results.report_diff import ReportDiff

    # A report has compiles too, and a diff programs: the first whose field is there.
    return read(path, (Comparison, ReportDiff, Report, CompileLog))


def _settings() -> Settings:
    from jaxscope.capture.options.settings import Settings

    return Settings(**_OPTIONS.get({}))
