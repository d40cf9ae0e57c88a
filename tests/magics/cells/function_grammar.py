"""A grammar of cells with functions: what they read, change and decide on, and how they are called.

Extends the grammar of cells: between the calls, statements change what the functions read.
"""

from __future__ import annotations

from hypothesis import strategies as st

from tests.magics.cells.cell_case import Case
from tests.magics.cells.cell_grammar import AFTER, CHANGES, SETUP, Writer

HEADS = ("", "", "", "", "@jax.jit\n", "@jax.checkpoint\n", "@functools.lru_cache\n")


class FunctionWriter(Writer):
    """Writes functions, and statements that call them."""

    def __init__(self, draw: st.DrawFn) -> None:
        super().__init__(draw)
        self.own_functions: dict[str, str] = {}
        """Their parameters after the array, by name."""

    def define(self, name: str) -> list[str]:
        value = self.array(1)
        earlier = [one for one, rest in self.own_functions.items() if not rest]
        if earlier and self.draw(st.booleans()):
            value = f"{self.one(*earlier)}({value})"
        parameters, body = self.draw(
            st.sampled_from(
                (
                    ("", [f"return v + {value}"]),
                    ("", [f"t0 = v * 2 - {value}", "return jnp.where(t0 > v, t0, v)"]),
                    ("", ["if v.ndim == 1:", "    return v * w", f"return {value}"]),
                    ("", ["return v * 2 if v.sum() > 1 else v"]),
                    ("", ["return v * float(v[0])"]),
                    ("", ["global counter", "counter += 1", "return v * counter"]),
                    ("", ["print('called with', v.shape)", "return v"]),
                    ("", [f"{name}.calls = getattr({name}, 'calls', 0) + 1", "return v * 2"]),
                    ("", ["return sum([v * i for i in range(n % 4)], v)"]),
                    ("", ["def inner(u):", "    return u * m + v", f"return inner({value})"]),
                    (", i=2", ["for _ in range(i % 4):", "    v = v + w", "return v"]),
                    (", box", ["box.append(v * 2)", "return v"]),
                    (", box", ["return v + box[0] if len(box) > 1 else v"]),
                    (", table", ["table['x'] = v", "return v * 2"]),
                    (", table", ["return v - table['x'] * table.get('n', 1)"]),
                )
            )
        )
        head = "" if parameters else self.draw(st.sampled_from(HEADS))
        self.own_functions[name] = parameters
        lines = [f"def {name}(v{parameters}):", *self.indented(body)]
        return [*head.splitlines(), *lines]

    def call(self, depth: int = 0) -> list[str]:
        name = self.one(*self.own_functions)
        value, target = self.array(1), self.target()
        rest = self.rest(self.own_functions[name])
        shape = self.draw(st.integers(0, 9 if not rest else 3))
        self.names.bind("arrays", target)
        if shape <= 2:
            return [f"{target} = {name}({value}{rest})"]
        if shape == 3:
            lines = [f"{target} = {value}", "for i in range(3):"]
            return [*lines, f"    {target} = jnp.clip({name}({target}{rest}), -64, 64)"]
        if shape == 4:
            self.names.bind("lists", "r")
            self.names.own.append("r")
            return [f"r = [{name}({value}), {name}(jnp.ones(2))]", f"{target} = r[0]"]
        if shape == 5:
            return [f"{target} = {self.one('jax.jit', 'jax.vmap')}({name})({value})"]
        if shape == 6:
            return [f"{target} = jax.grad(lambda u: {name}(u).sum())({value})"]
        if shape == 7:
            return [f"{target} = functools.reduce(lambda s, u: s + {name}(u), [{value}, a * 1])"]
        if shape == 8:
            return [f"{target}, = map({name}, [{value}])"]
        return [f"print(f'{{{name}({value}).sum():.3f}}')", f"{target} = {value}"]

    def rest(self, parameters: str) -> str:
        if "box" in parameters:
            return f", {self.one(*(self.names.lists or ['[a, 1]']))}"
        if "table" in parameters:
            own = "{'x': jnp.ones(3), 'n': 2}"
            return f", {self.one(*(self.names.dicts or [own]), own)}"
        return self.one("", f", {self.integer()}", f", i={self.integer()}") if parameters else ""


@st.composite
def function_cells(draw: st.DrawFn) -> Case:
    writer = FunctionWriter(draw)
    lines = ["import functools"]
    for i in range(draw(st.integers(1, 3))):
        lines += writer.define(f"f{i}")
    for _ in range(draw(st.integers(2, 6))):
        lines += writer.call() if draw(st.booleans()) else writer.statement()
    lines += writer.call()
    change = draw(st.sampled_from(CHANGES))
    return Case("generated", "", SETUP, "\n".join(lines) + "\n", "", change, AFTER)
