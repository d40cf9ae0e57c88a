"""The page that `%magic?` shows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from jaxscope.magics.parser import Parser

F = TypeVar("F", bound=Callable[..., Any])


def documented(parser: Parser, examples: str) -> Callable[[F], F]:
    """Gives a magic its page: what it does, how it is written, its options, examples."""

    def set_page(function: F) -> F:
        function.__doc__ = f"{parser.format_help().strip()}\n\nexamples:\n{examples}"
        return function

    return set_page
