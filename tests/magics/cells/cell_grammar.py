"""A grammar of statements, from which hypothesis draws cells.

Arithmetic is by small powers of two, so that float32 is exact and a difference is a difference. The
writer keeps to names that are bound, so that most cells run to their end; a few fail.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import strategies as st

from tests.magics.cells.cell_case import Case

SETUP = """
import jax
import jax.numpy as jnp
import numpy as np
a, b, c = jnp.arange(3.0), jnp.asarray([2.0, -1.0, 4.0]), jnp.ones(3)
f, g = 0.5, 2.0
n, m = 2, 3
flag = True
l, q = [a, 1], [b, c, "end"]
d = {"x": b, "n": 2, "in": {"y": c}}
e = d
w = jnp.asarray(2.0)
counter = 0

def h(v):
    global counter
    counter += 1
    return v * w + n
"""
AFTER = """
called = [fn(jnp.ones(3)) for fn in (k,)] if "k" in globals() else []
for box in (l, q):
    box.append("seen through every name")
d["seen"] = True
"""
CHANGES = (
    "",
    "a = a + 1",
    "a, b = b * 2, a",
    "n = n + 1",
    "n, m = 0, 1",
    "flag = not flag",
    "f = 0.25",
    "f = 4",
    "l = [b, 2]",
    "l.insert(0, c)",
    "d['x'] = a * 4",
    "d = {'in': d['in'], 'x': c, 'n': 5}",
    "w = jnp.asarray(-1.0)",
    "def h(v):\n    return v - w",
    "a = jnp.asarray([1, 2, 3])",
    "a = np.asarray([4.0, 2.0, 1.0], np.float32)",
    "globals().pop('t', None); globals().pop('u', None)",
)


@dataclass
class Names:
    """What the generator knows to be bound, by sort."""

    arrays: list[str] = field(default_factory=lambda: ["a", "b", "c", "w"])
    floats: list[str] = field(default_factory=lambda: ["f", "g"])
    ints: list[str] = field(default_factory=lambda: ["n", "m"])
    lists: list[str] = field(default_factory=lambda: ["l", "q"])
    dicts: list[str] = field(default_factory=lambda: ["d", "e"])
    functions: list[str] = field(default_factory=lambda: ["h"])
    own: list[str] = field(default_factory=list)
    """Lists that the cell made itself, which it may therefore change."""

    def bind(self, sort: str, name: str) -> None:
        for names in (self.arrays, self.floats, self.ints, self.lists, self.dicts, self.own):
            while name in names:
                names.remove(name)
        while name in self.functions:
            self.functions.remove(name)
        getattr(self, sort).append(name)

    def copy(self) -> Names:
        return Names(*(list(getattr(self, s)) for s in self.__dataclass_fields__))

    def meet(self, other: Names) -> None:
        """Keep what is bound whichever branch ran."""
        for sort in self.__dataclass_fields__:
            names = getattr(self, sort)
            names[:] = [n for n in names if n in getattr(other, sort)]


class Writer:
    """Writes statements of a cell, drawing every choice from hypothesis."""

    def __init__(self, draw: st.DrawFn) -> None:
        self.draw = draw
        self.names = Names()

    def one(self, *choices: str) -> str:
        return self.draw(st.sampled_from(choices))

    def array(self, depth: int = 0) -> str:
        names = self.names
        leaves = [
            *names.arrays,
            *(f"{v}[0]" for v in names.lists),
            *(f"{v}['x']" for v in names.dicts),
        ]
        leaf = self.one(*leaves) if leaves else "jnp.ones(3)"
        kind = self.draw(st.integers(0, 9 if depth < 2 else 3))
        if kind <= 3:
            return leaf
        if kind == 4:
            return f"({leaf} {self.one('+', '-', '*')} {self.array(depth + 1)})"
        if kind == 5:
            factors = [*names.floats, *names.ints, "2", "0.5"]
            return f"({self.array(depth + 1)} * {self.one(*factors)})"
        if kind == 6:
            function = self.one("jnp.maximum", "jnp.minimum", "jnp.add")
            return f"{function}({self.array(depth + 1)}, {leaf})"
        if kind == 7:
            return f"jnp.where({leaf} > 0, {self.array(depth + 1)}, {leaf})"
        if kind == 8 and names.functions:
            return f"{self.one(*names.functions)}({self.array(depth + 1)})"
        return f"jnp.clip({self.array(depth + 1)}, -64, 64)"

    def integer(self) -> str:
        lists = [f"len({v})" for v in self.names.lists] or ["1"]
        return self.one(
            *(self.names.ints or ["1"]),
            "1",
            "2",
            "a.ndim" if "a" in self.names.arrays else "3",
            *lists,
        )

    def target(self) -> str:
        return self.one("a", "b", "c", "t", "u", "π")

    def condition(self) -> str:
        return self.one("flag", f"{self.integer()} > 2", f"{self.integer()} == 2", "not flag")

    def block(self, size: int, depth: int) -> list[str]:
        lines: list[str] = []
        for _ in range(self.draw(st.integers(1, size))):
            lines += self.statement(depth)
        return lines

    def statement(self, depth: int = 0) -> list[str]:
        simple = (
            self.assign, self.assign, self.augment, self.chain, self.unpack, self.walrus,
            self.counts, self.floats, self.make_list, self.make_dict, self.alias, self.append,
            self.comprehension,             self.function, self.delete, self.say, self.change_input,
        )  # fmt: skip
        nested = (self.branch, self.loop, self.nested_function, self.attempt)
        chosen = self.draw(st.sampled_from(simple + nested * 2 if depth < 2 else simple))
        return chosen() if chosen in simple else chosen(depth + 1)

    def assign(self) -> list[str]:
        value, name = self.array(), self.target()
        self.names.bind("arrays", name)
        return [f"{name} = {value}"]

    def augment(self) -> list[str]:
        if not self.names.arrays:
            return ["pass"]
        name = self.one(*self.names.arrays)
        return [f"{name} {self.one('+', '-', '*')}= {self.array(1)}"]

    def chain(self) -> list[str]:
        if self.draw(st.booleans()):
            value = f"[{self.array()}, {self.integer()}]"
            for name in ("l", "r"):
                self.names.bind("lists", name)
                self.names.own.append(name)
            return [f"l = r = {value}"]
        value, first, second = self.array(), self.target(), self.target()
        self.names.bind("arrays", first)
        self.names.bind("arrays", second)
        return [f"{first} = {second} = {value}"]

    def unpack(self) -> list[str]:
        values = f"{self.array(1)}, {self.array(1)}, {self.integer()}"
        if self.draw(st.booleans()):
            self.names.bind("arrays", "t")
            self.names.bind("lists", "r")
            self.names.own.append("r")
            return [f"t, *r = {values}"]
        self.names.bind("arrays", "a")
        self.names.bind("arrays", "b")
        self.names.bind("ints", "m")
        return [f"(a, b), m = [{values.rpartition(', ')[0]}], {values.rpartition(', ')[2]}"]

    def walrus(self) -> list[str]:
        value, other, name = self.array(), self.array(1), self.target()
        self.names.bind("arrays", "u")
        self.names.bind("arrays", name)
        return [f"{name} = (u := {value}) + {other}"]

    def counts(self) -> list[str]:
        value = self.integer()
        if "n" in self.names.ints and self.draw(st.booleans()):
            return [f"n += {value}"]
        self.names.bind("ints", "m")
        return [f"m = {value} * 2 - {self.integer()}"]

    def floats(self) -> list[str]:
        if not self.names.floats:
            return ["pass"]
        name = self.one(*self.names.floats)
        value = self.one(f"{name} * 2", f"{name} - 1", f"{name} + {self.integer()}", "0.5")
        self.names.bind("floats", name)
        return [f"{name} = {value}"]

    def make_list(self) -> list[str]:
        value = self.one("{0}, {1}", "{0}, [{1}], 's'", "{0}, {{'k': {1}}}, None")
        name = self.one("l", "r")
        text = f"{name} = [{value.format(self.array(1), self.array(1))}]"
        self.names.bind("lists", name)
        self.names.own.append(name)
        return [text]

    def make_dict(self) -> list[str]:
        old = (
            f"**{self.one(*self.names.dicts)}, "
            if self.names.dicts and self.draw(st.booleans())
            else ""
        )
        name = self.one("d", "p")
        text = f"{name} = {{{old}'z': {self.integer()}, 'x': {self.array(1)}}}"
        self.names.bind("dicts", name)
        return [text]

    def alias(self) -> list[str]:
        boxes = [*self.names.lists, *self.names.dicts]
        if not boxes:
            return ["pass"]
        old = self.one(*boxes)
        sort = "lists" if old in self.names.lists else "dicts"
        own = old in self.names.own
        self.names.bind(sort, "s")
        if own:
            self.names.own.append("s")
        return [f"s = {old}", f"same = s is {old}, s is d" if "d" in self.names.dicts else "pass"]

    def append(self) -> list[str]:
        if not self.names.own:
            return ["pass"]
        return [f"{self.one(*self.names.own)}.append({self.array(1)})"]

    def change_input(self) -> list[str]:
        """Rarely: a cell that is refused."""
        if self.draw(st.integers(0, 5)) or "d" not in self.names.dicts:
            return ["pass"]
        return [self.one("d['x'] = {0}", "d['new'] = {0}", "d['n'] = 9").format(self.array(1))]

    def comprehension(self) -> list[str]:
        value = self.array(1)
        text = self.one(
            f"r = [{value} * i for i in range(2)]",
            f"r = [{value}] + [i for i in range(n) if i != 1]"
            if "n" in self.names.ints
            else f"r = [{value}]",
        )
        self.names.bind("lists", "r")
        self.names.own.append("r")
        return [text]

    def function(self) -> list[str]:
        body = self.array(1)
        self.names.bind("functions", "k")
        return [f"k = lambda v: v + {body if 'k(' not in body else 1}"]

    def delete(self) -> list[str]:
        victims = [
            n
            for n in ("c", "t", "u", "s", "p")
            if any(n in getattr(self.names, s) for s in ("arrays", "lists", "dicts"))
        ]
        if not victims:
            return ["pass"]
        name = self.one(*victims)
        self.names.bind("ints", name)
        self.names.ints.remove(name)
        return [f"del {name}"]

    def say(self) -> list[str]:
        return [f"print('n is', {self.integer()})", f"text = f'{{{self.integer()}}}'"]

    def indented(self, lines: list[str]) -> list[str]:
        return [f"    {line}" for line in lines]

    def branch(self, depth: int) -> list[str]:
        head, before = f"if {self.condition()}:", self.names.copy()
        body = self.block(2, depth)
        after, self.names = self.names, before
        other = self.block(2, depth) if self.draw(st.booleans()) else ["pass"]
        self.names.meet(after)
        return [head, *self.indented(body), "else:", *self.indented(other)]

    def loop(self, depth: int) -> list[str]:
        head, before = f"for i in range({self.one('n % 4', '2', '3')}):", self.names.copy()
        body = self.block(2, depth)
        self.names.meet(before)
        return [head, *self.indented(body)]

    def nested_function(self, depth: int) -> list[str]:
        value = self.array(1)
        body = [
            f"    global t, {'n' if 'n' in self.names.ints else 'm'}",
            f"    t = v + {value}",
            "    return t * 2",
        ]
        self.names.bind("arrays", "t")
        self.names.bind("arrays", "u")
        return ["if True:", *self.indented(["def inner(v):", *body]), f"u = inner({self.array(1)})"]

    def attempt(self, depth: int) -> list[str]:
        before = self.names.copy()
        body = self.block(1, depth)
        self.names.meet(before)
        fault = self.one("1 / 0", "undefined", "{}['k']", "pass")
        return [
            "try:", *self.indented([*body, fault]),
            "except (ZeroDivisionError, NameError, KeyError) as problem:",
            "    kind = type(problem).__name__",
        ]  # fmt: skip


@st.composite
def cells(draw: st.DrawFn) -> Case:
    writer = Writer(draw)
    lines = [line for _ in range(draw(st.integers(1, 7))) for line in writer.statement()]
    if draw(st.booleans()):
        lines.append(draw(st.sampled_from([writer.array(), writer.integer(), "d", "l", "(n, d)"])))
        lines[-1] += draw(st.sampled_from(["", "", ";"]))
    change = draw(st.sampled_from(CHANGES))
    return Case("generated", "", SETUP, "\n".join(lines) + "\n", "", change, AFTER)
