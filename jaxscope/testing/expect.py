"""Guards for tests: a block that compiles more often than expected fails with the explanation."""

from __future__ import annotations

import contextlib
import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self, TypeVar

from jaxscope.model import CompileKind
from jaxscope.model.compiles import unobserved
from jaxscope.results.compile_log import CompileLog, watching
from jaxscope.words import count

F = TypeVar("F", bound=Callable[..., Any])
_SHOWN = 8
"""Compiles that a failure lists."""


class CompilesError(AssertionError):
    """JAX compiled more or less often than expected; the text has the causes and fixes.

    `log` is the compile log of the block.
    """

    def __init__(self, message: str, log: CompileLog) -> None:
        super().__init__(message)
        self.log = log


@dataclass(frozen=True, slots=True)
class Bounds:
    """The expected number of compilations."""

    least: int = 0
    most: int | None = 1

    @classmethod
    def of(cls, at_most: int | None, at_least: int | None, exactly: int | None) -> Bounds:
        """From what the user gave; at most one compile when nothing was given."""
        for name, value in (("at_most", at_most), ("at_least", at_least), ("exactly", exactly)):
            if value is not None and (
                isinstance(value, bool) or not isinstance(value, int) or value < 0  # pyright: ignore[reportUnnecessaryIsInstance]
            ):
                raise ValueError(f"{name} must be a number of compiles, 0 or more, not {value!r}.")
        if exactly is not None:
            if at_most is not None or at_least is not None:
                raise ValueError("Give either `exactly`, or `at_least` and `at_most`.")
            return cls(exactly, exactly)
        if at_most is None and at_least is None:
            return cls()
        if at_most is not None and at_least is not None and at_least > at_most:
            raise ValueError(f"at_least={at_least} is more than at_most={at_most}.")
        return cls(at_least or 0, at_most)

    def hold(self, number: int) -> bool:
        return self.least <= number and (self.most is None or number <= self.most)

    @property
    def text(self) -> str:
        """`at most 1 compile`, `exactly 2 compiles`, `1 to 3 compiles`."""
        least, most = self.least, self.most
        if most is None:
            return f"at least {count(least, 'compile')}"
        if least == most:
            return f"exactly {count(most, 'compile')}" if most else "no compile"
        if least == 0:
            return f"at most {count(most, 'compile')}"
        return f"{least} to {count(most, 'compile')}"


class Expected(contextlib.ContextDecorator):
    """The guard of `jaxscope.expect_compiles`: a context manager, and a decorator of functions."""

    def __init__(
        self, bounds: Bounds, function: str | Callable[..., Any] | None, eager: bool
    ) -> None:
        self._bounds = bounds
        self._given = function
        self._name = function_name(function)
        self._eager = eager
        self._stack: contextlib.ExitStack | None = None
        self._log: CompileLog | None = None

    def __call__(self, func: F) -> F:
        """Decorate a function, an async one too: each call is guarded by itself."""
        if inspect.iscoroutinefunction(func):

            @functools.wraps(func)
            async def guarded(*args: Any, **kwargs: Any) -> Any:
                with self._recreate_cm():
                    return await func(*args, **kwargs)

            return guarded  # type: ignore[return-value]
        return super().__call__(func)

    def _recreate_cm(self) -> Self:
        return type(self)(self._bounds, self._given, self._eager)

    def __enter__(self) -> CompileLog:
        if self._stack is not None:
            raise RuntimeError("This guard is already in use; create one per block.")
        stack = contextlib.ExitStack()
        self._log = stack.enter_context(watching(guard=True))
        self._stack = stack
        return self._log

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        # The traceback shows only the line and the message of the guard.
        __tracebackhide__ = True
        stack, log, self._stack = self._stack, self._log, None
        if stack is None or log is None:
            return
        stack.close()
        if kind is None:
            check(log, self._bounds, self._name, self._eager)


def check(log: CompileLog, bounds: Bounds, name: str = "", eager: bool = False) -> None:
    """Raise CompilesError with the explanation unless the log has as many compiles as expected."""
    __tracebackhide__ = True
    message = verdict(log, bounds, name, eager)
    if message:
        raise CompilesError(message, log)


def verdict(log: CompileLog, bounds: Bounds, name: str = "", eager: bool = False) -> str:
    """The explanation of a wrong number of compilations; empty if it is right.

    Where JAX did not report compilations, no number is right.
    """
    if deaf := unobserved(log.notes):
        return f"Expected {bounds.text}, but they could not be counted.\n{deaf}"
    counted = [
        compile
        for compile in log.compiles
        if (compile.fun_name == name if name else eager or compile.kind is not CompileKind.EAGER)
    ]
    if bounds.hold(len(counted)):
        return ""
    of = f" of `{name}`" if name else ""
    was = "was none" if not counted else f"{'was' if len(counted) == 1 else 'were'} {len(counted)}"
    lines = [f"Expected {bounds.text}{of}, but there {was}."]
    if len(counted) > bounds.least:
        from jaxscope.view.compiles.rows import plain_rows

        lines += plain_rows(log.only(counted).log, _SHOWN)
    else:
        lines += _missing(log, name)
    left = [c for c in log.compiles if c.kind is CompileKind.EAGER and c not in counted]
    if left and not eager and not name:
        what = f"{len(left)} compiles of single operations (eager=True counts them)"
        if len(left) == 1:
            what = "1 compile of a single operation (eager=True counts it)"
        lines.append(f"Not counted: {what}.")
    return "\n".join((*lines, *log.notes))


def _missing(log: CompileLog, name: str) -> list[str]:
    others = tuple(dict.fromkeys(compile.fun_name for compile in log.compiles))
    lines: list[str] = []
    if name and others:
        lines.append(f"These functions compiled: {', '.join(others[:_SHOWN])}.")
    lines.append(
        "A function that compiled before this block, for the same arguments, is cached; call "
        "`jax.clear_caches()` before the block."
    )
    return lines


def function_name(function: str | Callable[..., Any] | None) -> str:
    """The name under which a function is reported; empty for None. Raises ValueError."""
    if function is None or isinstance(function, str):
        return function or ""
    found = getattr(function, "__name__", "")
    if found.startswith("<unnamed"):  # a jitted object, reported under the name of its class
        from jaxscope.capture.compiles.signature.functions import name_of  # it imports jax

        found = name_of(function)
    if not found:
        raise ValueError(f"{function!r} has no __name__; give the function's name as a string.")
    return str(found)
