"""What is said of functions that are new to JAX, and what to do."""

from __future__ import annotations

from jaxscope.analysis.compiles.causes.difference import Difference
from jaxscope.analysis.compiles.causes.signature import Signature
from jaxscope.analysis.compiles.causes.text_parts import Words, Writer, change
from jaxscope.model import CauseKind


def _place(found: Difference) -> str:
    return f" at {found.after}" if found.after else ""


def _new_function(found: Difference, signature: Signature, nearest: int) -> Words:
    name, wrappers = found.path, found.detail
    if "bound method" in wrappers:
        return (
            (
                f"`{name}` is a new bound method: Python makes one each time an attribute is "
                "read, and to JAX each is a new function."
            ),
            (
                f"Jit it once, for example in `__init__`: `self.{name} = jax.jit(self.{name})`, "
                "or jit a plain function of the parameters."
            ),
        )
    if "callable object" in wrappers:
        return (
            (
                f"The jitted function is an object of `{name}`, and this one is new: to JAX each "
                "is a new function."
            ),
            "Make the object once and jit it once.",
        )
    if "partial" in wrappers:
        return (
            (
                f"`{name}` is wrapped in a new `functools.partial`{_place(found)}: to JAX each is "
                "a new function."
            ),
            "Make the partial once, or pass what it binds as arguments of the jitted function.",
        )
    transforms = [word for word in wrappers.split() if word.startswith("jax.")]
    if transforms:
        return (
            (
                f"`{transforms[0]}({name})` was made anew: each call of `{transforms[0]}` returns "
                "a new function."
            ),
            f"Make it once, outside the loop: `g = jax.jit({transforms[0]}({name}))`.",
        )
    what = "a lambda" if signature.function.is_lambda else f"`{name}`"
    return (
        (
            f"{what[:1].upper()}{what[1:]}{_place(found)} was made anew: the same code as in "
            f"compile {nearest}, but a new function object, and JAX keeps programs by object."
        ),
        (
            "Define and jit it once, outside the loop or the function that makes it, and pass "
            "what varies as arguments."
        ),
    )


def _collected(found: Difference, signature: Signature, nearest: int) -> Words:
    return (
        (
            f"The function of compile {nearest} was collected by Python, and its programs with "
            f"it; this is a new object of `{found.path}`{_place(found)}."
        ),
        (
            "Keep the jitted function: bind it to a name that lives as long as it is needed, "
            "instead of making it where it is called."
        ),
    )


def _redefined(found: Difference, signature: Signature, nearest: int) -> Words:
    if found.detail == "cell":
        return "The code of the cell changed.", ""
    if found.detail == "inside":
        text = "The cell and its inputs are as before, so something that it calls or reads changed."
        return text, ""
    if found.detail == "edited":
        return f"The code of `{found.path}` has changed since it was compiled before.", ""
    return (
        (
            f"`{found.path}` was defined again with the same code{_place(found)}: running a `def` "
            "again makes a new function."
        ),
        "Keep the definition in a cell of its own, and run only the cell that calls it.",
    )


def _closure(found: Difference, signature: Signature, nearest: int) -> Words:
    return (
        f"`{found.path}`, which the function carries along, changed: {change(found)}.",
        f"Pass `{found.path}` as an argument; then every value of it uses the same program.",
    )


FUNCTION_WORDS: dict[CauseKind, Writer] = {
    CauseKind.NEW_FUNCTION: _new_function,
    CauseKind.FUNCTION_COLLECTED: _collected,
    CauseKind.REDEFINED: _redefined,
    CauseKind.CLOSURE: _closure,
}
