"""What is said of options, settings and operations outside any jit, and what to do."""

from __future__ import annotations

import re

from jaxscope.analysis.compiles.causes.difference import Difference
from jaxscope.analysis.compiles.causes.signature import Signature
from jaxscope.analysis.compiles.causes.text_parts import Words, Writer, change
from jaxscope.model import CauseKind

_IN_BRACKETS = re.compile(r"[\[(]([\d, ]*)[\])]")


def _donation(found: Difference, signature: Signature, nearest: int) -> Words:
    return (
        f"It was jitted again with another donation: `{found.path}` {change(found)}.",
        "Jit the function once, with the donation that it should have, and use that object.",
    )


def _option(found: Difference, signature: Signature, nearest: int) -> Words:
    if found.detail == "role":
        text = f"`{found.path}` was a {found.before} argument and is now a {found.after} one."
    else:
        text = f"It was jitted again with another option: `{found.path}` {change(found)}."
    return text, "Jit the function once and use that object everywhere."


def _compiler(found: Difference, signature: Signature, nearest: int) -> Words:
    return (
        f"It was compiled with other compiler options: {change(found)}.",
        "Each set of options is a program of its own; set them once.",
    )


def _context(found: Difference, signature: Signature, nearest: int) -> Words:
    if found.path == "mesh":
        return (
            f"The mesh in use is another one: {change(found)}.",
            "Call `jax.set_mesh(mesh)` once at the top, not around some of the calls.",
        )
    return (
        f"The setting `{found.path}` changed: {change(found)}.",
        (
            "It belongs to the key of every program. Set it once at the top, by "
            f'`jax.config.update("{found.path}", …)`, not around some of the calls.'
        ),
    )


def _cleared(found: Difference, signature: Signature, nearest: int) -> Words:
    return (
        "Nothing changed since it was compiled before: JAX had dropped the program.",
        (
            "Look for `jax.clear_caches()` and `.clear_cache()`; JAX also drops what has not "
            "been used for thousands of other programs."
        ),
    )


def _eager_shape(found: Difference, signature: Signature, nearest: int) -> Words:
    what = f"{found.detail} {change(found)}" if found.detail else change(found)
    name = signature.function.name
    fix = "Put the code around it into a function under `jax.jit`."
    if _sizes(found.before) != _sizes(found.after):
        fix += (
            " For sizes that grow, use a fixed size with `jax.lax.dynamic_slice` or a mask, or "
            "NumPy."
        )
    return (
        f"The operation `{name}` runs outside any jit, and was given something else: {what}.",
        fix,
    )


def _sizes(text: str) -> list[str]:
    """`["4,8"]` of `f32[4,8]`, `["3,"]` of `(3,)`."""
    return _IN_BRACKETS.findall(text)


def _eager_body(found: Difference, signature: Signature, nearest: int) -> Words:
    name = signature.function.name
    return (
        f"`{name}` runs outside any jit and was given a new function: {found.after}.",
        (
            f"Put the call of `{name}` into a function under `jax.jit`, or define the function "
            "that it is given once, and pass values in as operands."
        ),
    )


SETTING_WORDS: dict[CauseKind, Writer] = {
    CauseKind.DONATION: _donation,
    CauseKind.JIT_OPTION: _option,
    CauseKind.COMPILER_OPTION: _compiler,
    CauseKind.CONTEXT: _context,
    CauseKind.CACHE_CLEARED: _cleared,
    CauseKind.EAGER_SHAPE: _eager_shape,
    CauseKind.EAGER_BODY: _eager_body,
}
