"""Completion on a magic's line: its options, and names after the options that take them."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from typing import Any

_TAKE_NAMES = ("-s", "--static", "-t", "--traced", "-d", "--donate", "--only")
_DEVICES = ("cpu:0", "gpu:0", "tpu:0")


def completer(
    parser: argparse.ArgumentParser, names: Callable[[], Mapping[str, Any]]
) -> Callable[[Any, Any], list[str]]:
    """A handler for IPython's `complete_command` hook."""
    flags = sorted(
        name
        for action in parser._actions  # pyright: ignore[reportPrivateUsage]
        for name in action.option_strings
    )

    def complete(shell: Any, event: Any) -> list[str]:
        before = event.line[: len(event.line) - len(event.symbol)].split()
        if before and before[-1] in _TAKE_NAMES:
            return [name for name in names() if not name.startswith("_")]
        if before and before[-1] == "--device":
            return list(_DEVICES)
        if before and before[-1] == "--view":
            return ["auto", "html", "text", "widget"]
        return flags

    return complete
