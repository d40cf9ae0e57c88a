"""The first page: example cells, with buttons that insert them where the front end can."""

from __future__ import annotations

from typing import NamedTuple

from jaxscope.view.base import insert
from jaxscope.view.base.html import Html, tag


class Example(NamedTuple):
    """A question, and a cell that answers it. Run in order: later ones use the imports."""

    question: str
    code: str


EXAMPLES = (
    Example(
        "What does JAX make of my code?",
        "%%jaxjit\nimport jax\nimport jax.numpy as jnp\nimport numpy as np\n\n"
        "def loss(w, x):\n    h = jnp.tanh(x @ w)\n    return jnp.mean(h**2)\n\n"
        "w, x = jnp.ones((64, 64)), jnp.ones((256, 64))\nloss(w, x)",
    ),
    Example("Which line is slow?", "%jaxprof loss(w, x)"),
    Example("What does its gradient cost?", "%jaxgrad -w w loss(w, x)"),
    Example(
        "Why does it compile again?",
        "%%jaxwatch\nstep = jax.jit(loss)\nfor size in (256, 256, 200):\n    step(w, x[:size])",
    ),
    Example(
        "Is JAX faster here?",
        "%%jaxbench --time-limit 20 x=np.ones(10_000)\n# numpy\nnp.tanh(x).sum()\n"
        "# jax\njnp.tanh(x).sum()",
    ),
)
_STYLE = """
.jxs-steps { max-width: 46em }
.jxs-steps p { margin: 8px 0 2px }
.jxs-steps.jxs-steps pre { margin: 0; padding: 2px 10px; border-left: 3px solid; overflow-x: auto }
.jxs-steps summary { min-height: 24px; padding: 4px 0; cursor: pointer }
"""


def page(guide: str) -> str:
    """The examples as HTML, with the list of magics folded below them."""
    cells = [_example(example) for example in EXAMPLES]
    magics = tag("details", tag("summary", "All magics"), _code(guide))
    return str(
        tag("div", tag("style", Html(_STYLE + insert.STYLE)), *cells, magics, class_="jxs-steps")
    )


def _example(example: Example) -> Html:
    label = f"Insert the cell: {example.question}"
    head = tag("p", example.question, " ", insert.button("Insert", label))
    return tag("div", head, _code(example.code))


def _code(text: str) -> Html:
    return tag("pre", *insert.code(text))
