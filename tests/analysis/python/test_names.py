"""Names of a cell: what is read before it is assigned, what is bound, what cannot stand."""

from __future__ import annotations

import ast
import builtins
import sys
import textwrap
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jaxscope.analysis.python.names import (
    bound_names,
    certainly_bound,
    certainly_read,
    forbidden,
    is_silenced,
    last_expression,
    read_before_assigned,
    reflective_calls,
    roots,
    top_level_definitions,
)


def parse(text: str) -> ast.Module:
    return ast.parse(textwrap.dedent(text))


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
    assert tokens(read_before_assigned(parse(text))) == set(expected.split())


def test_names_read_come_in_source_order() -> None:
    assert read_before_assigned(parse("c = b + a\nd = [e for e in z] + b")) == ("b", "a", "z")


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
    assert tokens(read_before_assigned(parse(text))) == set(reads.split())
    assert bound_names(parse(text)) == (bound,)


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
    assert tokens(bound_names(parse(text))) == set(bound.split())
    assert tokens(certainly_bound(parse(text))) == set(certain.split())


def test_long_sums_do_not_exhaust_the_stack() -> None:
    text = "y = " + " + ".join(["x"] * 2000)
    assert read_before_assigned(parse(text)) == ("x",)


def test_reflective_calls_are_named_with_their_line() -> None:
    assert reflective_calls(parse("x = 1\nglobals()['y'] = 1\neval('x')\nobj.eval()")) == (
        (2, "globals"),
        (3, "eval"),
    )


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


@settings(max_examples=150, deadline=None)
@given(programs.filter(compiles))
def test_every_name_that_a_run_reads_early_is_found(text: str) -> None:
    tree, namespace = ast.parse(text), Recorder()
    execute(text, namespace)
    assert namespace.early <= set(read_before_assigned(tree))
    assert namespace.changed() <= set(bound_names(tree))


@settings(max_examples=150, deadline=None)
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


# The shape of a cell


def test_the_last_expression_is_found() -> None:
    last = last_expression(parse("x = 1\nx + 1"))
    assert last is not None
    assert ast.unparse(last) == "x + 1"
    assert last_expression(parse("x + 1\ny = 2")) is None
    assert last_expression(parse("")) is None


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
    assert [node.name for node in top_level_definitions(tree)] == ["f", "A", "g"]


ROOTS = [
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


@pytest.mark.parametrize(("text", "expected"), ROOTS)
def test_roots_are_the_functions_that_no_other_uses(text: str, expected: str) -> None:
    assert roots(parse(text)) == tuple(expected.split())


FORBIDDEN = [
    ("x = 1\nreturn x", 2, "uses `return` outside a function"),
    ("if x:\n    return", 2, "uses `return` outside a function"),
    ("yield x", 1, "uses `yield` outside a function"),
    ("y = yield from x", 1, "uses `yield` outside a function"),
    ("x = await f()", 1, "uses `await` outside a function"),
    ("async for i in x:\n  pass", 1, "uses `await` outside a function"),
    ("async with x:\n  pass", 1, "uses `await` outside a function"),
    ("y = [i async for i in x]", 1, "uses `await` outside a function"),
    ("y = (i async for i in x)", 1, "uses `await` outside a function"),
    ("class A:\n  await x", 2, "uses `await` outside a function"),
    ("x = 1\n%timeit x", 2, "`%timeit x`, is a magic command"),
    ("%matplotlib inline\nx = 1", 1, "`%matplotlib inline`, is a magic command"),
    ("if x:\n    %time x", 2, "`%time x`, is a magic command"),
    ("%%time\nx = 1", 1, "`%%time`, is a magic command"),
    ("t = %timeit -o x", 1, "is a magic command"),
    ("x = 1\n\n!ls -l", 3, "`!ls -l`, is a shell command"),
    ("!echo it's", 1, "is a shell command"),
    ("files = !ls", 1, "is a shell command"),
    ("jnp.sum?", 1, "`jnp.sum?`, asks IPython for help"),
    ("?jnp.sum", 1, "asks IPython for help"),
    ("jnp.sum??", 1, "asks IPython for help"),
    ("x = 1\nget_ipython().run_line_magic('timeit', 'x')", 2, "`%timeit x`, is a magic command"),
    ("get_ipython().system('ls')", 1, "`!ls`, is a shell command"),
    ("y = get_ipython().getoutput('ls')", 1, "`!ls`, is a shell command"),
    ("return 1\nyield 2", 1, "uses `return` outside a function"),
    ("%timeit " + "x + " * 40 + "x", 1, "...`, is a magic command"),
]


@pytest.mark.parametrize(("text", "line", "part"), FORBIDDEN)
def test_what_cannot_stand_in_a_cell_is_named(text: str, line: int, part: str) -> None:
    found = forbidden(text)
    assert found is not None
    assert found.line == line
    assert part in found.message
    assert found.message.startswith(f"Line {line}")
    assert found.message.endswith(".")


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
        ("", None),
    ],
)
def test_a_name_that_is_read_whichever_way_the_text_runs(text: str, line: int | None) -> None:
    found = certainly_read(ast.parse(text), {"u"})
    assert (None if found is None else found.lineno) == line


@pytest.mark.parametrize(
    "text",
    [
        "",
        "x = 1",
        "def f():\n  return 1\n",
        "def f():\n  yield 1\n",
        "async def f():\n  await x\n",
        "f = lambda: (yield)",
        "y = (a\n% b)",
        "y = a \\\n% b",
        "s = '''\n%magic\n!shell\n'''",
        "x = 'what?'  # really?",
        "x = (1 +",
        "1 +* 2",
        "x = 1\n# why?\ny = 3 3",
        "a != b",
        "ip = get_ipython()",
        "x = '\0'",
    ],
)
def test_what_may_stand_in_a_cell_is_left_alone(text: str) -> None:
    assert forbidden(text) is None


def test_a_forbidden_line_says_what_to_do() -> None:
    found = forbidden("\nreturn x")
    assert found is not None
    assert found.message == (
        "Line 2 uses `return` outside a function, which a cell cannot. "
        "Make the value the last expression of the cell instead."
    )
    magic = forbidden("x = 1\n%timeit x")
    assert magic is not None
    assert magic.message == (
        "Line 2, `%timeit x`, is a magic command, which cannot be part of a compiled program. "
        "Put it in a cell of its own."
    )
