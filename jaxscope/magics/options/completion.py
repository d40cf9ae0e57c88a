"""Completion on a magic's line: its options, and names after the options that take them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from jaxscope.magics.options.parser import Parser

_TAKE_NAMES = ("-s", "--static", "-t", "--traced", "-d", "--donate", "--only", "-w", "--wrt")
_TAKE_VALUES = ("--tangents", "--cotangent", "-i", "--in-axes")
_MODES = ("grad", "jvp", "vjp", "jacfwd", "jacrev", "hessian")
_TRANSFORMS = ("jit", "vmap", "pmap", "grad", "value_and_grad", "jacfwd", "jacrev", "hessian")
_OF_STACKS = ("-w", "-i", "--mode", "--order", "--value", "--has-aux", "--out-axes", "--axis-name")
_DEVICES = ("cpu:0", "gpu:0", "tpu:0")


def completer(
    parser: Parser,
    names: Callable[[], Mapping[str, Any]],
    *,
    stack: bool = False,
) -> Callable[[Any, Any], list[str]]:
    """A handler for IPython's `complete_command` hook; `stack` says that transforms are named."""
    flags = sorted(parser.flags)

    def complete(shell: Any, event: Any) -> list[str]:
        before = event.line[: len(event.line) - len(event.symbol)].split()
        if before and before[-1] in (*_TAKE_NAMES, *_TAKE_VALUES):
            return [name for name in names() if not name.startswith("_")]
        if before and before[-1] == "--mode":
            return list(_MODES)
        if before and before[-1] == "--device":
            return list(_DEVICES)
        if before and (choices := parser.choices(before[-1])):
            return choices
        if stack and (len(before) == 1 or before[-1] == "|"):
            return [*_TRANSFORMS, *flags]
        return [*flags, *_OF_STACKS, "|"] if stack else flags

    return complete
