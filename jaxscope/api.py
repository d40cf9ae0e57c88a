"""The public functions: what every magic does, usable in a script or a test."""

from __future__ import annotations

import contextlib
import contextvars
from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jaxscope.report import Report, keep_latest, latest, read

if TYPE_CHECKING:
    from jaxscope.capture.settings import Settings

_OPTIONS: contextvars.ContextVar[dict[str, Any]] = contextvars.ContextVar("jaxscope_options")


def inspect(f: Any, /, *args: Any, **kwargs: Any) -> Report:
    """Compile `f` for these arguments, run it, and report what it became and what it costs.

    `f` may be a plain function, a jitted one, or JAX's own `Traced`, `Lowered` or `Compiled`; of
    the latter three nothing is compiled again, and a `Lowered` or `Compiled` is not run unless
    arguments are given. Arguments may be `jax.ShapeDtypeStruct`: then the program is compiled and
    not run. All keyword arguments go to `f`; settings come from `jaxscope.options`.

    A plain function follows the rule of the block form: arrays and floats are traced, ints, bools,
    strings and other objects are static. A jitted one keeps its own `static_argnums`.

    Raises what `f` raises while it is traced and what JAX raises for it, and TypeError when `f` is
    nothing that can be compiled.

    Example:
        >>> report = jaxscope.inspect(lambda x: (x - x.mean()) / x.std(), jnp.ones(1000))
        >>> print(report.summary())
    """
    from jaxscope.capture import run

    ran = run.call(f, args, kwargs, _settings())
    report = Report(ran.record, ran.texts)
    keep_latest(report)
    return report


@contextlib.contextmanager
def options(
    *,
    runs: int | None = None,
    device: str | None = None,
    x64: bool | None = None,
    static: tuple[str, ...] = (),
    traced: tuple[str, ...] = (),
    donate: tuple[str, ...] = (),
) -> Generator[None]:
    """Settings for the calls of `inspect` inside the block; blocks nest, the inner one wins.

    runs: None repeats for at most half a second, 0 compiles only, N runs exactly N times.
    device: `cpu:1`, `gpu`. static, traced, donate: names of `f`'s parameters.
    Raises ValueError for a negative number of runs.
    """
    from jaxscope.capture.settings import Settings

    given: dict[str, Any] = {
        "runs": runs,
        "device": device,
        "x64": x64,
        "static": static,
        "traced": traced,
        "donate": donate,
    }
    chosen = {**_OPTIONS.get({}), **{k: v for k, v in given.items() if v is not None and v != ()}}
    Settings(**chosen)
    token = _OPTIONS.set(chosen)
    try:
        yield
    finally:
        _OPTIONS.reset(token)


def last() -> Report:
    """The report of the last `%%jaxjit`, `%jaxjit` or `inspect` in this process.

    Raises LookupError when there is none yet.
    """
    report = latest()
    if report is None:
        raise LookupError("There is no report yet: run a %%jaxjit cell or jaxscope.inspect first.")
    return report


def load(path: str | Path) -> Report:
    """The report that `Report.save` wrote, without the live program.

    Raises FileNotFoundError, and jaxscope.model.SchemaError when the file is no report of a schema
    that this version reads.
    """
    return read(path)


def _settings() -> Settings:
    from jaxscope.capture.settings import Settings

    return Settings(**_OPTIONS.get({}))
