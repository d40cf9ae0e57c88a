"""The page that `%magic?` shows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from IPython.core.magic_arguments import MagicArgumentParser

F = TypeVar("F", bound=Callable[..., Any])


def documented(parser: MagicArgumentParser, examples: str) -> Callable[[F], F]:
    """Gives a magic its page: what it does, its options, examples."""

    def set_page(function: F) -> F:
        usage = parser.format_help().replace("::", "").replace(str(parser.description), "").strip()
        function.__doc__ = f"{parser.description}\n\n{usage}\n\nexamples:\n{examples}"
        return function

    return set_page
