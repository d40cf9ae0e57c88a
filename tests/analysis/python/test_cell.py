"""Names and in-place changes of a cell, from its syntax."""

from __future__ import annotations

import ast
import builtins
import sys
import textwrap
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jaxscope.analysis.python.cell import CellSyntax, CellText, is_silenced
from jaxscope.analysis.python.flow import NameFlow


def parse(text: str) -> ast.Module:
    return ast.parse(textwrap.dedent(text))


def certainly_bound(tree: ast.Module) -> tuple[str, ...]:
    """Names that are bound whenever the text has run to its end; none if it cannot."""
    flow = NameFlow()
    flow.visit(tree)
    return tuple(name for name in flow.bound if (0, name) in (flow.state or set()))


READS = [
    # text, names read before certainly assigned
    ("y = x + 1", "x"),
    ("x = 1\ny = x", ""),
    ("x = x + 1", "x"),
    ("x += 1", "x"),
    ("x[0] += y", "x y"),
    ("x.a = b", "b x"),
    ("a, b = b, a", "b a"),
    ("a = b = c\nd = a + b", "c"),
    ("x: int = y\nz = x", "int y"),
    ("x: int\nz = x", "int x"),
    ("(y := x) + y", "x"),
    ("f(y := 1, y)", "f"),
    ("f(k=(y := 1), j=y)", "f"),
    ("a and (b := 1)\nb", "a b"),
    ("(b := a) and b", "a"),
    ("a < (b := 1) < (c := 2)\nb, c", "a c"),
    ("(y := 1) if c else (y := 2)\ny", "c"),
    ("1 if c else (y := 2)\ny", "c y"),
    ("{(k := a): k}", "a"),
    ("f'{x!r:>{w}}'", "x w"),
    ("del x\nx", "x"),
    ("x = 1\ndel x\nx", "x"),
    ("import numpy as np, os.path\nnp, os", ""),
    ("from m import a, b as c\na, c, b", "b"),
    # if
    ("if c:\n  y = 1\nelse:\n  y = 2\ny", "c"),
    ("if c:\n  y = 1\ny", "c y"),
    ("if c:\n  y = 1\nelse:\n  raise E\ny", "c E"),
    ("if c:\n  y = 1\nelif d:\n  y = 2\nelse:\n  y = 3\ny", "c d"),
    ("if c:\n  y = 1\nelif d:\n  y = 2\ny", "c d y"),
    ("x = 1\nif c:\n  del x\nx", "c x"),
    # loops
    ("for i in xs:\n  t = i\nt", "xs t"),
    ("for i in xs:\n  pass\ni", "xs i"),
    ("for i in i:\n  pass", "i"),
    ("for a, b in xs:\n  a + b", "xs"),
    ("s = 0\nfor i in xs:\n  s += i\ns", "xs"),
    ("for i in xs:\n  s += i", "xs s"),
    ("for i in xs:\n  if i:\n    k = 1\n    break\nelse:\n  k = 2\nk", "xs k"),
    ("while (n := f()):\n  n\nn", "f"),
    ("while c:\n  y = 1\ny", "c y"),
    ("x = 1\nfor i in xs:\n  x\n  del x", "xs x"),
    ("while c:\n  c = y\n  y = 1", "c y"),
    ("for x[i] in xs:\n  pass", "xs x i"),
    # try
    ("try:\n  y = f()\nexcept E:\n  pass\ny", "f E y"),
    ("try:\n  y = f()\nexcept E:\n  y = 1\ny", "f E"),
    ("try:\n  y = f()\nexcept E:\n  raise\ny", "f E"),
    ("try:\n  y = f()\nfinally:\n  y", "f y"),
    ("try:\n  y = f()\nfinally:\n  z = 1\ny, z", "f"),
    ("try:\n  f()\nexcept E as e:\n  e\ne", "f E e"),
    ("try:\n  f()\nexcept E:\n  y = 1\nelse:\n  y = 2\ny", "f E"),
    ("e = 1\ntry:\n  f()\nexcept E as e:\n  pass\ne", "f E e"),
    ("try:\n  y = f()\nexcept* E:\n  y = 1\ny", "f E y"),
    # with
    ("with open(p) as f:\n  t = f\nt, f", "open p"),
    ("with suppress(E):\n  t = f()\nt", "suppress E f t"),
    ("with contextlib.suppress(E):\n  t = f()\nt", "contextlib E f t"),
    ("with a as (b, c), d(b):\n  pass\nc", "a d"),
    # match
    ("match p:\n  case (a, b):\n    a + b\na", "p a"),
    ("match p:\n  case 1:\n    y = 1\n  case _:\n    y = 2\ny", "p"),
    ("match p:\n  case 1:\n    y = 1\n  case 2:\n    y = 2\ny", "p y"),
    ("match p:\n  case z if g(z):\n    pass\nz", "p g z"),
    ("match p:\n  case z:\n    pass\nz", "p"),
    ("match p:\n  case {'k': k, **rest}:\n    k, rest\n  case [*s]:\n    s\n", "p"),
    ("match p:\n  case C.v | D(q=1):\n    pass", "p C D"),
    # functions
    ("def f(a, *b, c=d, **e):\n  return a + b + c + e + g", "d g"),
    ("def f(n):\n  return f(n - 1)", ""),
    ("@deco\ndef f(n):\n  return f(n - 1)", "deco f"),
    ("def f(x: A) -> B:\n  t = x\n  return t", "A B"),
    ("g = 1\ndef f():\n  return g", ""),
    ("def f():\n  return g\ng = 1", "g"),
    ("def f():\n  global g\n  g = 1\nf()\ng", "g"),
    ("def f():\n  global g\n  g = 1\n  return g", ""),
    ("def f():\n  global g\n  g += 1", "g"),
    ("def f():\n  x = 1\n  def g():\n    return x + y\n  return g", "y"),
    ("def f():\n  x = 1\n  def g():\n    nonlocal x\n    x += 1\n  return g", ""),
    ("def f():\n  def g():\n    return x\n  x = 1\n  return g", ""),
    ("def f():\n  global x\n  def g():\n    return x\n", "x"),
    ("def f():\n  for i in r:\n    pass\n  import m\n  with c as d:\n    return i, m, d", "r c"),
    ("def f():\n  [q := i for i in r]\n  return q", "r"),
    (
        "def f():\n  try:\n    pass\n  except E as e:\n    e\n  match s:\n    case [*t]:\n      t",
        "E s",
    ),
    ("def f():\n  if a:\n    return b\n  return c", "a b c"),
    ("async def f():\n  async with a as b:\n    async for c in b:\n      await c", "a"),
    ("g = lambda a, b=c: a + b + d", "c d"),
    ("g = lambda: g()", "g"),
    ("g = lambda: (t := 1) + t", ""),
    ("def f():\n  eval\n  return lambda: z", "eval z"),
    # comprehensions
    ("[i * k for i in xs if i > t]", "xs i k t".replace(" i", "")),
    ("[i for i in i]", "i"),
    ("[j for i in xs for j in i]", "xs"),
    ("{k: v for k, v in d.items()}", "d"),
    ("[(t := i) for i in xs]\nt", "xs t"),
    ("(i for i in xs if (t := i))", "xs"),
    ("i = [i for i in range(3)]\ni", "range"),
    ("[[j + i for j in ys] for i in xs]", "xs ys"),
    ("[lambda: i + m for i in xs]", "xs m"),
    # classes
    ("class A(B, m=C):\n  x = y\n  z = x", "B C y"),
    ("class A:\n  x = x", "x"),
    ("class A:\n  x = 1\n  def f(self):\n    return x", "x"),
    ("class A:\n  x = 1\n  y = [x for _ in r]", "r x"),
    ("class A:\n  x = r\n  y = [i for i in x]", "r"),
    ("class A:\n  global g\n  g = 1\ng", ""),
    ("class A:\n  if c:\n    x = 1\n  y = x", "c x"),
    ("class A:\n  def f(self):\n    return A", "A"),
    ("class A:\n  def f(self):\n    return __p", "_A__p"),
    ("class _A:\n  __q = 1\n  y = __q", ""),
    ("def f(x):\n  class A:\n    y = x\n  return A", ""),
    # control that never arrives
    ("raise E\nx", "E"),
    ("assert c, m\nx = 1\nx", "c m"),
    ("π = 1\nπ + τ", "τ"),
    ("", ""),
    ("# nothing", ""),
]


def tokens(names: tuple[str, ...]) -> set[str]:
    return set(names)


@pytest.mark.parametrize(("text", "expected"), READS)
def test_names_read_before_certainly_assigned(text: str, expected: str) -> None:
    assert tokens(CellSyntax(parse(text)).reads) == set(expected.split())


def test_names_read_come_in_source_order() -> None:
    assert CellSyntax(parse("c = b + a\nd = [e for e in z] + b")).reads == ("b", "a", "z")


@pytest.mark.skipif(sys.version_info < (3, 12), reason="type parameters came with Python 3.12")
@pytest.mark.parametrize(
    ("text", "reads", "bound"),
    [
        ("def f[T: B](x: T) -> R:\n  return T", "B R", "f"),
        ("class A[T](P[T]):\n  x: T", "P", "A"),
        ("type X[T] = list[T] | Y", "list Y", "X"),
    ],
)
def test_type_parameters_are_local(text: str, reads: str, bound: str) -> None:
    assert tokens(CellSyntax(parse(text)).reads) == set(reads.split())
    assert CellSyntax(parse(text)).bound == (bound,)


BOUND = [
    # text, names bound, names certainly bound
    ("x = 1", "x", "x"),
    ("x: int", "", ""),
    ("x: int = 1", "x", "x"),
    ("a, (b, *c) = v", "a b c", "a b c"),
    ("x[0] = y.z = 1", "", ""),
    ("x += 1", "x", "x"),
    ("for i, j in xs:\n  k = i", "i j k", ""),
    ("for x in xs:\n  pass\nelse:\n  y = 1", "x y", ""),
    ("with a as b:\n  c = 1", "b c", "b c"),
    ("with suppress(E):\n  c = 1", "c", ""),
    ("import a.b, c.d as e\nfrom f import g, h as i", "a e g i", "a e g i"),
    ("from m import *", "*", "*"),
    ("def f(x):\n  y = 1", "f", "f"),
    ("class A:\n  x = 1\n  def f(self): pass", "A", "A"),
    ("def f():\n  global x\n  x = 1\n  def g():\n    global y\n    y = 1", "f x y", "f"),
    ("class A:\n  global x\n  x = 1", "x A", "x A"),
    ("lambda: (y := 1)", "", ""),
    ("[(t := i) for i in xs]", "t", ""),
    ("[(t := 1) + i for i in [u := 2]]", "u t", "u"),
    ("try:\n  x = 1\nexcept E as e:\n  y = 1", "x e y", ""),
    ("try:\n  x = 1\nfinally:\n  y = 1", "x y", "x y"),
    ("match p:\n  case [a, *b]:\n    pass\n  case {'k': c, **d}:\n    pass\n", "a b c d", ""),
    ("match p:\n  case {'k': c, **d}:\n    pass\n  case C() as e:\n    f = 1\n", "c d e f", ""),
    ("del x", "x", ""),
    ("x = 1\ndel x", "x", ""),
    ("x = 1\nif c:\n  del x", "x", ""),
    ("x = 1\nraise E", "x", ""),
    ("if c:\n  x = 1\nelse:\n  x = 2\n  y = 1", "x y", "x"),
    ("while c:\n  x = 1", "x", ""),
    ("print(x := 1)", "x", "x"),
]


@pytest.mark.parametrize(("text", "bound", "certain"), BOUND)
def test_names_bound_and_certainly_bound(text: str, bound: str, certain: str) -> None:
    assert tokens(CellSyntax(parse(text)).bound) == set(bound.split())
    assert tokens(certainly_bound(parse(text))) == set(certain.split())


def test_long_sums_do_not_exhaust_the_stack() -> None:
    text = "y = " + " + ".join(["x"] * 2000)
    assert CellSyntax(parse(text)).reads == ("x",)


# Against Python itself: every name that a run reads before it writes it is in the static set.

NAMES = "abcde"


class Initial(int):
    """The value that a name has before the program runs, told apart by identity."""


class Recorder(dict[str, Any]):
    """A namespace that notes which names were read while they had their initial value.

    Writes are not intercepted: Python's STORE_GLOBAL goes past `__setitem__`.
    """

    def __init__(self, names: str = NAMES) -> None:
        self.initial = {name: Initial(1) for name in names}
        super().__init__({"__builtins__": builtins, **self.initial})
        self.early: set[str] = set()

    def __getitem__(self, name: str) -> Any:
        value = super().__getitem__(name)
        if name in self.initial and value is self.initial[name]:
            self.early.add(name)
        return value

    def changed(self) -> set[str]:
        kept = {n for n, value in self.initial.items() if dict.get(self, n) is value}
        return {*self.initial, *dict.keys(self)} - kept - {"__builtins__"}


names = st.sampled_from(NAMES)


def expressions() -> st.SearchStrategy[str]:
    leaves = names | st.sampled_from(["0", "1", "2"])
    return st.recursive(
        leaves,
        lambda inner: st.one_of(
            st.tuples(inner, inner).map(lambda p: f"({p[0]} + {p[1]})"),
            st.tuples(names, inner).map(lambda p: f"({p[0]} := {p[1]})"),
            st.tuples(inner, inner).map(lambda p: f"({p[0]} and {p[1]})"),
            st.tuples(inner, inner).map(lambda p: f"({p[0]} or {p[1]})"),
            st.tuples(inner, inner, inner).map(lambda p: f"({p[0]} if {p[1]} else {p[2]})"),
            st.tuples(inner, inner, inner).map(lambda p: f"({p[0]} < {p[1]} < {p[2]})"),
            st.tuples(inner, names).map(lambda p: f"(lambda {p[1]}=1: {p[0]})()"),
            # Python forbids rebinding the iteration variable, so it has a name of its own.
            st.tuples(inner, inner).map(lambda p: f"sum([{p[0]} + i for i in range({p[1]} % 3)])"),
            st.tuples(inner, names).map(lambda p: f"sum({p[0]} for i in range(2) if i)"),
            inner.map(lambda e: f"abs({e})"),
        ),
        max_leaves=5,
    )


def indent(text: str) -> str:
    return textwrap.indent(text, "  ")


def statements() -> st.SearchStrategy[str]:
    simple = st.one_of(
        st.tuples(names, expressions()).map(lambda p: f"{p[0]} = {p[1]}"),
        st.tuples(names, expressions()).map(lambda p: f"{p[0]} += {p[1]}"),
        st.tuples(names, names, expressions()).map(lambda p: f"{p[0]}, {p[1]} = {p[2]}, 1"),
        names.map(lambda n: f"del {n}"),
        expressions(),
        expressions().map(lambda e: f"assert {e}, a"),
        st.just("pass"),
        st.sampled_from(["f()", "g()"]),
        st.just("raise ValueError(b)"),
    )

    def compound(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        body = st.lists(inner, min_size=1, max_size=3).map("\n".join).map(indent)
        return st.one_of(
            st.tuples(expressions(), body).map(lambda p: f"if {p[0]}:\n{p[1]}"),
            st.tuples(expressions(), body, body).map(
                lambda p: f"if {p[0]}:\n{p[1]}\nelse:\n{p[2]}"
            ),
            st.tuples(names, expressions(), body).map(
                lambda p: f"for {p[0]} in range({p[1]} % 3):\n{p[2]}"
            ),
            st.tuples(body, body, names).map(
                lambda p: f"try:\n{p[0]}\nexcept Exception as {p[2]}:\n{p[1]}"
            ),
            st.tuples(body, body, body).map(
                lambda p: f"try:\n{p[0]}\nexcept Exception:\n{p[1]}\nfinally:\n{p[2]}"
            ),
            st.tuples(body, body, body).map(
                lambda p: f"try:\n{p[0]}\nexcept Exception:\n{p[1]}\nelse:\n{p[2]}"
            ),
            st.tuples(st.sampled_from("fg"), names, body).map(
                lambda p: f"def {p[0]}({p[1]}=1):\n{p[2]}"
            ),
            st.tuples(st.sampled_from("fg"), body).map(lambda p: f"def {p[0]}():\n{p[1]}"),
            body.map(lambda b: f"class K:\n{b}"),
            st.tuples(expressions(), names, body, body).map(
                lambda p: (
                    f"match {p[0]}:\n  case 1:\n{indent(p[2])}\n  case {p[1]}:\n{indent(p[3])}"
                )
            ),
        )

    return st.recursive(simple, compound, max_leaves=8)


programs = st.lists(statements(), min_size=1, max_size=6).map("\n".join)


def execute(text: str, namespace: Recorder) -> bool:
    """Run the program; True if it came to its end."""
    try:
        exec(compile(text, "<program>", "exec"), namespace)
    except Exception:
        return False
    return True


def compiles(text: str) -> bool:
    try:
        compile(text, "<program>", "exec")
    except SyntaxError:
        return False  # such as a name used before its `global` declaration
    return True


@settings(max_examples=80, deadline=None)
@given(programs.filter(compiles))
def test_every_name_that_a_run_reads_early_is_found(text: str) -> None:
    tree, namespace = ast.parse(text), Recorder()
    execute(text, namespace)
    assert namespace.early <= set(CellSyntax(tree).reads)
    assert namespace.changed() <= set(CellSyntax(tree).bound)


@settings(max_examples=80, deadline=None)
@given(programs.filter(compiles))
def test_every_certain_name_is_bound_at_the_end(text: str) -> None:
    namespace = Recorder(names="")
    if execute(text, namespace):
        assert set(certainly_bound(ast.parse(text))) <= set(dict.keys(namespace))


def test_the_recorder_sees_early_reads_and_changes() -> None:
    namespace = Recorder()
    assert execute("a = b\ndef f():\n  return c + a\nf()\ndel d", namespace)
    assert namespace.early == {"b", "c"}
    assert namespace.changed() == {"a", "f", "d"}


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("x = 1\ny = (u ** 2).sum()", 2),
        ("u.at[0] = 1", 1),
        ("for i in r:\n  pass\nf(lambda: 1, u)", 3),
        ("y = 1 if u else 2", 1),
        ("y = 0 < u < x", 1),
        ("f = lambda: u", None),
        ("y = [u for _ in r]", None),
        ("y = x and u", None),
        ("y = 1 if x else u", None),
        ("y = 0 < x < u", None),
        ("if x:\n  u", None),
        ("def f():\n  return u", None),
        ("x: u = 1", None),
        ("raise E\nu", None),
        ("exec(s)\nu", None),
        ("globals()['y'] = 1\nu", None),
        ("obj.eval()\nu", 2),
        ("", None),
    ],
)
def test_a_name_that_is_read_whichever_way_the_text_runs(text: str, line: int | None) -> None:
    found = CellSyntax(ast.parse(text)).certainly_read({"u"})
    assert (None if found is None else found.lineno) == line


def test_a_cell_has_only_the_future_imports_of_the_shell() -> None:
    body = "def f(x: int): ..."
    for flags, annotation in ((0, int), (annotations.compiler_flag, "int")):
        statements, _ = CellText(body, body, "<cell>", CellSyntax(ast.parse(body)), flags).code()
        namespace: dict[str, Any] = {}
        exec(statements, namespace)
        assert namespace["f"].__annotations__ == {"x": annotation}


CHANGES = [
    # text, name and line of each change
    ("d[k] = 1", [("d", 1)]),
    ("x = 1\nmodel.layers[0].w = x", [("model", 2)]),
    ("del d['a'], o.b", [("d", 1), ("o", 1)]),
    ("rows.append(x)\na.sort()\nd.get(k)", [("rows", 1), ("a", 2), ("a", 2)]),
    ("n += 1\nf(x).b = 2", [("n", 1)]),
    ("def f():\n  rows.append(1)\nd[0] += 1", [("rows", 2), ("d", 3)]),
    ("y = x.at[0].set(1)", []),
]


@pytest.mark.parametrize(("text", "expected"), CHANGES)
def test_in_place_changes_come_with_their_name_and_line(
    text: str, expected: list[tuple[str, int]]
) -> None:
    changes = CellSyntax(parse(text)).changes
    assert [(change.name, change.line) for change in changes] == expected


def test_the_first_change_of_a_name_is_found() -> None:
    syntax = CellSyntax(parse("if c:\n  for i in r:\n    d[i] = 1\nd[0] = 2"))
    change = syntax.first_change("d")
    assert change is not None
    assert change.line == 3
    assert syntax.first_change("r") is None


def test_a_change_says_how_it_is_made() -> None:
    syntax = CellSyntax(parse("o.a = 1\nb += 1\nd[0] = 1\nl.append(1)\na[0].partition(2)"))
    assert [c.how for c in syntax.changes] == ["attribute", "augmented", "item", "method", "sort"]
    assert (syntax.changes[-1].target, syntax.changes[-1].method) == ("a[0]", "partition")
    assert [c.method for c in syntax.changes] == ["", "", "", "append", "partition"]
    assert [c.method for c in CellSyntax(parse("del o.a, d[0]")).changes] == ["del", "del"]


def test_names_are_found_with_a_binding_of_many_lines() -> None:
    syntax = CellSyntax(parse("a = 1\nb, c = f(\n  a,\n  d,\n)\nfor e in g: pass\nb.x = h"))
    assert syntax.names_bound_with("b") == {"a", "c", "d", "f"}
    assert syntax.names_bound_with("e") == {"g"}
    assert syntax.names_bound_with("h") == set()


def test_names_are_found_by_line() -> None:
    syntax = CellSyntax(parse("y = x + 1\nz = [y for x in y]\ny = 2"))
    assert syntax.mentioned == ("y", "z", "x")
    assert syntax.names_on(2) == {"x", "y", "z"}
    assert (syntax.first_use("x"), syntax.last_binding("y")) == (1, 3)
    assert syntax.last_binding("missing") is None


def test_the_last_expression_is_found() -> None:
    last = CellSyntax(parse("x = 1\nx + 1")).last
    assert last is not None
    assert ast.unparse(last) == "x + 1"
    assert CellSyntax(parse("x + 1\ny = 2")).last is None
    assert CellSyntax(parse("")).last is None


@pytest.mark.parametrize(
    ("text", "silenced"),
    [
        ("x", False),
        ("x;", True),
        ("x;  # comment", True),
        ("x;\n\n# comment\n", True),
        ("x; y", False),
        ("x # ;", False),
        ("';'", False),
        ("x = '''\n;'''", False),
        ("", False),
        ("(x", False),
        ("if c:\n    x;\n", True),
        ("x = 'unfinished", False),
    ],
)
def test_a_trailing_semicolon_silences(text: str, silenced: bool) -> None:
    assert is_silenced(text) is silenced


def test_top_level_definitions_are_functions_and_classes() -> None:
    tree = parse(
        """
        x = lambda: 1
        def f(): pass
        if x:
            def hidden(): pass
        class A: pass
        async def g(): pass
        """
    )
    assert list(CellSyntax(tree).definitions) == ["f", "A", "g"]


ENTRY_POINTS = [
    ("def f(x):\n  return x", "f"),
    ("def f(x):\n  return g(x)\ndef g(x):\n  return x", "f"),
    ("def g(x):\n  return x\ndef f(x):\n  return lambda: g(x)", "f"),
    ("def f(x): return x\ndef g(x): return x", "f g"),
    ("def f(x): return x\ny = f(1)", "f"),
    ("def f(n): return f(n - 1)", "f"),
    ("def even(n): return odd(n - 1)\ndef odd(n): return even(n - 1)", "even"),
    ("def even(n): return odd(n - 1)\ndef odd(n): return even(n - 1)\nodd(3)", "odd"),
    ("def f(g): return g(1)\ndef g(x): return x", "f g"),
    ("class A:\n  def m(self): return f(1)\ndef f(x): return x", ""),
    ("async def f(): pass\ndef g(): return f()", "g"),
    ("def gen():\n  yield 1\ndef g(): return 1", "g"),
    ("def mk():\n  def gen():\n    yield 1\n  return gen", "mk"),
    (("@jax.custom_vjp\ndef f(x): return x\ndef fwd(x): pass\ndef bwd(r, g): pass\n"
     "f.defvjp(fwd, bwd)"), "f"),
    ("def loss(w): return w\ngrad = jax.grad(loss)", "loss"),
    ("def f(x, act=relu): return act(x)\ndef relu(x): return x", "f"),
    ("x = 1", ""),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), ENTRY_POINTS)
def test_entry_points_are_the_functions_that_no_other_uses(text: str, expected: str) -> None:
    assert CellSyntax(parse(text)).entry_points == tuple(expected.split())


@pytest.mark.parametrize(
    ("code", "asked"),
    [
        ("isinstance(lr, float)", {"lr": 1}),
        ("y = x * lr\nk = type(lr)", {"lr": 2}),
        ("f'{lr:.2f} {n + 1} {o.lr}'", {"lr": 1}),
        ("'%s' % lr", {"lr": 1}),
        ("'%d of %s' % (n, lr)", {"n": 1, "lr": 1}),
        ("'{}'.format(lr)", {"lr": 1}),
        ("np.isscalar(lr)\nstr(lr)", {"lr": 1}),
        ("lr % 2\nf(lr)\nlr.type\nprint(lr * 2, sep=lr)", {}),
    ],
)
def test_names_whose_type_or_text_the_code_uses(code: str, asked: dict[str, int]) -> None:
    assert CellSyntax(ast.parse(code)).asked == asked
