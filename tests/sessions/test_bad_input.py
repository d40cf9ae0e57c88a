"""Bad input: a clear sentence, an untouched namespace, and a next cell that works."""

from __future__ import annotations

import linecache
import re
import signal
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from tests.magics.notebook import Notebook, Ran, open_notebook

SETUP = """
import jax
import jax.numpy as jnp
import numpy as np
x = jnp.arange(4.0)
a = np.arange(4.0)
n = 3
w = "w"
d = {"k": x}
rows = [1, x]
seen = {1}
class Thing:
    pass
thing = Thing()
thing.k = 1
def user(v):
    return v + np.sin(v)
def branch(v):
    return v if v.sum() > 0 else -v
def many(v, k):
    return [v for _ in range(k)]
@jax.jit
def jitted(v):
    return v if v.sum() > 0 else -v
import functools
@functools.partial(jax.jit, static_argnums=1)
def listed(v, sizes):
    return v
length = jnp.array(3)
"""


@pytest.fixture(scope="module")
def notebook() -> Iterator[Notebook]:
    with open_notebook() as opened:
        opened.must(SETUP)
        yield opened


@dataclass(frozen=True)
class Bad:
    cell: str
    kind: str
    says: tuple[str, ...]
    """Sentences, or parts of one, that the message must hold."""
    line: int | None = None
    """The innermost line of the cell in the traceback."""


def jit(body: str, options: str = "") -> str:
    return f"%%jaxjit {options}".rstrip() + "\n" + body


USAGE = "UsageError"
IN_PLACE = "in place, but a compiled program works on copies."
CASES = {
    "syntax error": Bad(jit("y = x\ny = = 2"), "SyntaxError", ("invalid syntax", "line 3")),
    "unclosed bracket": Bad(jit("y = (x"), "SyntaxError", ("'(' was never closed", "line 2")),
    "indentation": Bad(jit("if n:\ny = x"), "IndentationError", ("expected an indented", "line 3")),
    "unknown name": Bad(
        jit("y = x\nz = nowhere + 1"), "NameError", ("'nowhere'", "No variable was changed."), 3
    ),
    "magic inside": Bad(
        jit("y = x\n%time 1"),
        USAGE,
        (
            "Line 3, `%time 1`, is a magic command, which cannot be part of a compiled program.",
            "Move it to a different cell.",
        ),
    ),
    "shell inside": Bad(
        jit("!ls"), USAGE, ("Line 2, `!ls`, is a shell command", "Move it to a different cell.")
    ),
    "return": Bad(
        jit("return x"),
        USAGE,
        ("Line 2 uses `return` outside a function", "Make the value the last expression"),
    ),
    "await": Bad(
        jit("await x"),
        USAGE,
        ("Line 2 uses `await` outside a function", "Await it in an earlier cell"),
    ),
    "yield": Bad(
        jit("yield x"), USAGE, ("Line 2 uses `yield` outside a function", "Collect the values")
    ),
    "tracer as int": Bad(
        jit("y = list(range(n))", "-t n"),
        "TracerIntegerConversionError",
        ("Line 2: `n` is traced.", "needs a known int", "run with `-s n`."),
        2,
    ),
    "tracer as bound of a slice": Bad(
        jit("y = x[:n]", "-t n"),
        "IndexError",
        ("Line 2: `n` is traced.", "must be known ints", "run with `-s n`."),
        2,
    ),
    "tracer as bool": Bad(
        jit("if x.sum() > 0:\n    y = 1"),
        "TracerBoolConversionError",
        ("Line 2: `x` is traced.", "use `jnp.where` for values, `jax.lax.cond` for code, or"),
        2,
    ),
    "tracer as float": Bad(
        jit("y = float(x[0])"),
        "ConcretizationTypeError",
        ("Line 2: `x` is traced. The code needs a Python number",),
        2,
    ),
    "tracer as array": Bad(
        jit("y = np.sin(x)"),
        "TracerArrayConversionError",
        (
            "Line 2: NumPy needs the values of an array",
            "NumPy needs the values of an array that is traced: write `jnp.",
        ),
        2,
    ),
    "tracer in a library": Bad(
        jit("import scipy.linalg\ny = scipy.linalg.norm(x)"),
        "TracerArrayConversionError",
        ("Line 3: scipy needs the values of an array", "to a cell without the magic."),
        3,
    ),
    "Ref that stays": Bad(
        jit("r = jax.new_ref(x)"),
        "ValueError",
        ("A Ref cannot leave a compiled program: create it in a cell without the magic.",),
    ),
    "tracer in an assertion": Bad(
        jit("y = x\nassert (\n    y.sum() > 0\n)"),
        "TracerBoolConversionError",
        ("`assert` needs the value of a traced array: check the result in a cell without",),
        4,
    ),
    "boolean mask": Bad(
        jit("y = x[x > 1]"),
        "NonConcreteBooleanIndexError",
        ("Line 2:", "use `jnp.where(mask, x, 0)`, or `jnp.nonzero(mask, size=...)`"),
        2,
    ),
    "unhashable static": Bad(
        jit("def scaled(v, k):\n    return v * k[0]\nscaled(x, [1, 2])", "--decorate -s k"),
        "ValueError",
        ("Line 4: A static argument must be hashable: pass a tuple instead of a list",),
        4,
    ),
    "absent platform": Bad(
        jit("y = x", "--device tpu"), USAGE, ("There is no device `tpu` here. JAX has ",)
    ),
    "absent number": Bad(
        jit("y = x", "--device cpu:77"),
        USAGE,
        ("There is no device `cpu:77` here", "run `%jaxdevices --cpu 78` before anything else"),
    ),
    "nonsense device": Bad(
        jit("y = x", "--device 0!"),
        USAGE,
        ("`0!` is not a device name. Write a platform and optionally a number",),
    ),
    "exception in a nested jit": Bad(
        jit("y = jax.jit(user)(x)"),
        "TracerArrayConversionError",
        ("In [2]:16: NumPy needs the values",),
        2,
    ),
    "user's own exception": Bad(
        jit("y = x\nraise LookupError('mine')"),
        "LookupError",
        ("mine", "No variable was changed."),
        3,
    ),
    "interrupt while tracing": Bad(
        jit("y = x\nraise KeyboardInterrupt"), "KeyboardInterrupt", (), 3
    ),
    "no pytree": Bad(
        jit("y = jnp.sin(thing)"),
        "TypeError",
        ("Line 2: JAX takes arrays and numbers: convert this argument, or make it static",),
        2,
    ),
    "dict changed": Bad(jit("y = x\nd['new'] = y"), "RefusedError", ("Line 3:", IN_PLACE), 3),
    "list changed": Bad(
        jit("rows.append(x)"),
        "RefusedError",
        ("Line 2:", IN_PLACE, "`rows = [*rows, value]`. No variable was changed."),
        2,
    ),
    "attribute changed": Bad(jit("thing.k = x"), "RefusedError", ("Line 2:", IN_PLACE), 2),
    "set changed": Bad(
        jit("seen.add(2)"), "RefusedError", ("Line 2:", "`seen = seen | {value}`."), 2
    ),
    "numpy changed": Bad(
        jit("a[0] = 5"), "TypeError", ("immutable: write `a = a.at[0].set(5)`.",), 2
    ),
    "shape of a traced number": Bad(
        jit("y = jnp.zeros(length)"),
        "TypeError",
        ("`length` is traced. A shape needs known ints while tracing", "run with `-s length`."),
        2,
    ),
    "braces": Bad(
        jit("y = x", "{w} $x"), USAGE, ("%%jaxjit takes only options, but got '{w} $x'.",)
    ),
    "dollar": Bad(jit("y = x", "-s $w"), USAGE, ("'$w' is not a name; give names separated",)),
    "wrong option": Bad(jit("y = x", "--fast"), USAGE, ("There is no option --fast. ",)),
    "negative runs": Bad(
        jit("y = x", "-n -1"),
        USAGE,
        ("'-1' is not a number of runs: 0 (compile only), 1 (run once) or more",),
    ),
    "runs without number": Bad(jit("y = x", "-n"), USAGE, ("--runs needs a value.",)),
    "report name": Bad(
        jit("y = x", "-o 1a"), USAGE, ("-o needs a name for the report, but got '1a'.",)
    ),
    "keyword as report name": Bad(
        jit("y = x", "-o class"), USAGE, ("-o needs a name for the report",)
    ),
    "unknown static": Bad(
        jit("y = x", "-s q"),
        USAGE,
        ("-s names `q`, which is not defined. Its inputs are: x.",),
    ),
    "undefined and read": Bad(
        jit("y = x + q", "-d q"), USAGE, ("-d names `q`, which is not defined.", "are: x.")
    ),
    "assigned static": Bad(
        jit("q = x", "-s q"), USAGE, ("-s names `q`, which this cell assigns itself",)
    ),
    "defined and not read": Bad(
        jit("y = x", "-s jnp"), USAGE, ("-s names `jnp`, which is not an input of this cell.",)
    ),
    "unknown traced": Bad(jit("y = x", "-t q"), USAGE, ("-t names `q`", "Its inputs are: x.")),
    "unknown donated": Bad(jit("y = x", "-d q"), USAGE, ("-d names `q`", "Its inputs are: x.")),
    "static and traced": Bad(
        jit("y = x", "-s x -t x"), USAGE, ("`x` cannot be both static and traced",)
    ),
    "traced text": Bad(
        jit("y = x * len(w)", "-t w"), USAGE, ("-t names `w`, a str, and JAX traces arrays",)
    ),
    "unknown only": Bad(
        jit("def f(v):\n    return v\nf(x)", "--only g"),
        USAGE,
        ("--only names `g`, which this cell does not define. It defines: f.",),
    ),
    "block and decorate": Bad(
        jit("y = x", "--block --decorate"),
        USAGE,
        ("--block and --decorate exclude each other; use one of them.",),
    ),
    "rest of the line": Bad(
        jit("y = x", "user(x)"),
        USAGE,
        (
            "%%jaxjit takes only options, but got 'user(x)'.",
            "For one call, write %jaxjit user(x)",
        ),
    ),
    "unknown view": Bad(
        jit("y = x", "--view film"),
        USAGE,
        ("--view takes auto, widget, html or text, but got 'film'.",),
    ),
    "line without call": Bad(
        "%jaxjit",
        USAGE,
        ("%jaxjit needs a call, such as %jaxjit f(x, y). For a cell, write %%jaxjit.",),
    ),
    "line with a syntax error": Bad(
        "%jaxjit user(", USAGE, ("`user(` is not a Python expression: '(' was never closed.",)
    ),
    "line with late options": Bad(
        "%jaxjit user(x) --time-limit 20",
        USAGE,
        ("is not a Python expression: options come first, `--time-limit 20 user(x)`.",),
    ),
    "line that is no call": Bad(
        "%jaxjit 2 + 1", USAGE, ("%jaxjit needs a call such as f(x, y); `2 + 1` is not a call.",)
    ),
    "line that reads no array": Bad(
        "%jaxjit nowhere + 1",
        USAGE,
        ("`nowhere + 1` is not a call such as f(x, y), and reads no array that is defined.",),
    ),
    "line with an unknown function": Bad("%jaxjit nofun(x)", "NameError", ("'nofun'",)),
    "line with no function": Bad(
        "%jaxjit n(x)", USAGE, ("There is nothing to compile: int is not a function.",)
    ),
    "line with an error inside": Bad(
        "%jaxjit user(x)", "TracerArrayConversionError", ("__array__",)
    ),
    "line with an unknown argument": Bad("%jaxjit user(nowhere)", "NameError", ("'nowhere'",)),
    "line with too many arguments": Bad(
        "%jaxjit user(x, x)", "TypeError", ("user() takes 1 positional argument but 2",)
    ),
    "gradient of a line with too many arguments": Bad(
        "%jaxgrad user(x, x)", "TypeError", ("user() takes 1 positional argument but 2",)
    ),
    "gradient of no number": Bad(
        "%jaxgrad (lambda a: None)(x)", "RefusedError", ("The loss is None, but",)
    ),
    "gradient of a print": Bad(
        "%jaxgrad print(x)", "RefusedError", ("Line 1: the code uses the text of a traced value",)
    ),
    "gradient of an empty cell": Bad(
        "%%jaxgrad\n# nothing", "RefusedError", ("The cell must end with an expression",)
    ),
    "batch of a line without arrays": Bad(
        "%jaxvmap len(w)",
        USAGE,
        ("`vmap` has no axis to map. There is no traced input. Name an input",),
    ),
    "short option that does not exist": Bad(
        jit("y = x", "-z"), USAGE, ("There is no option -z. `%jaxjit?` lists the options.",)
    ),
    "option that looks like none": Bad(
        "%%jaxprof --device gpu\ny = x",
        USAGE,
        ("There is no option --device. `%jaxprof?` lists the options.",),
    ),
    "words after %jaxdevices": Bad(
        "%jaxdevices now", USAGE, ("%jaxdevices takes only options, but got 'now'.",)
    ),
    "shell inside a profiled cell": Bad(
        "%%jaxprof\n!ls", USAGE, ("which cannot be part of a profiled cell.",)
    ),
    "options of %jaxscope": Bad("%jaxscope -n", USAGE, ("%jaxscope takes no options",)),
    "devices without number": Bad(
        "%jaxdevices --cpu many", USAGE, ("'many' is not a number of devices, 1 or more",)
    ),
    "unknown option of %jaxdevices": Bad(
        "%jaxdevices --mesure",
        USAGE,
        ("There is no option --mesure. Did you mean --measure? `%jaxdevices?` lists the options.",),
    ),
    "devices too late": Bad(
        "%jaxdevices --cpu 9", USAGE, ("JAX is already running with", "`%jaxdevices --cpu 9`")
    ),
}


def state(notebook: Notebook) -> dict[str, tuple[Any, Any]]:
    """Every name of the user's with its object and its value."""
    names = {k: v for k, v in notebook.names.items() if not re.match(r"_|In$|Out$", k)}
    return {k: (v, value_of(v)) for k, v in names.items()}


def value_of(item: Any) -> Any:
    if hasattr(item, "shape"):
        return np.asarray(item).tolist()
    if isinstance(item, dict):
        return {k: value_of(v) for k, v in item.items()}
    if isinstance(item, (list, set)):
        return [value_of(v) for v in item]
    if type(item).__name__ == "Thing":
        return dict(vars(item))
    return repr(item)


def unchanged(before: dict[str, tuple[Any, Any]], after: dict[str, tuple[Any, Any]]) -> None:
    assert before.keys() == after.keys()
    for name, (thing, value) in before.items():
        assert after[name][0] is thing, name
        assert after[name][1] == value, name


@pytest.mark.parametrize(
    "line", ["%jaxjit user(nowhere)", "%jaxjit user(x, x)", "%jaxgrad user(x, x)"]
)
def test_the_traceback_of_a_line_ends_on_its_text(notebook: Notebook, line: str) -> None:
    ran = notebook.run(line)
    assert ran.frames[-1] == ("<call>", 1)
    assert linecache.getline("<call>", 1) == line.partition(" ")[2] + "\n"


NUMPY = "NumPy needs the values of an array that is traced: write `jnp.sin(v)`."
BRANCH = "A traced value has no truth value: write `jnp.where(v.sum() > 0, v, -v)`."
FIXED = "If its value may be fixed, run with `-s "


@pytest.mark.parametrize(
    ("line", "says", "fixable"),
    [
        ("%jaxjit user(x)", f"\njaxscope: {NUMPY}", ""),
        ("%jaxgrad user(x)", f"\njaxscope: {NUMPY}", ""),
        ("%jaxvmap user(x)", f"\njaxscope: {NUMPY}", ""),
        ("%jaxprof user(x)", f"\njaxscope: {NUMPY}", ""),
        ("%jaxjit branch(np.arange(4.0))", f"\njaxscope: `v` is traced. {BRANCH}", "v"),
        ("%jaxjit branch(v=np.arange(4.0))", f"\njaxscope: `v` is traced. {BRANCH}", "v"),
        # JAX traces what is computed of a static `jax.Array` too.
        ("%jaxjit branch(x)", f"\njaxscope: `v` is traced. {BRANCH}", ""),
        ("%jaxgrad branch(x)", f"\njaxscope: `v` is traced. {BRANCH}", ""),
        ("%jaxprof branch(x)", f"\njaxscope: `v` is traced. {BRANCH}", ""),
        ("%jaxvmap branch(x)", f"\njaxscope: `v` is traced. {BRANCH}", ""),
        ("%jaxjit jitted(x)", f"\njaxscope: `v` is traced. {BRANCH}", ""),
        ("%jaxjit (lambda v: jitted(v * 2))(x)", f"\njaxscope: `v` is traced. {BRANCH}", ""),
        ("%jaxjit -t k many(x, n)", "\njaxscope: `k` is traced. An index, a shape or a", "k"),
        ("%jaxjit listed(x, [1, 2])", "\njaxscope: A static argument must be hashable: pass", ""),
        ("%jaxprof listed(x, [1, 2])", "\njaxscope: A static argument must be hashable: pass", ""),
    ],
)
def test_a_line_has_the_advice_of_cells(
    line: str, says: str, fixable: str, notebook: Notebook
) -> None:
    before = state(notebook)
    ran = notebook.run(line)
    assert says in ran.message
    assert ran.message.count("jaxscope: ") == 1
    assert (FIXED in ran.message) is bool(fixable)
    assert not fixable or f"{FIXED}{fixable}`." in ran.message
    unchanged(before, state(notebook))
    if fixable:
        call = line.removeprefix("%jaxjit").replace("-t k", "")
        notebook.must(f"%jaxjit -s {fixable}{call}")


@pytest.mark.parametrize(
    ("cell", "fixable"),
    [
        ("y = 1 if x.sum() > 0 else 2", ""),
        ("y = 1 if x[0] else 2", ""),
        ("y = float(np.ones(3)[0] * lr)", "lr"),
        ("y = 1 if flag else 2", "flag"),
        ("y = list(range(flag))", "flag"),
    ],
)
def test_a_static_input_is_the_fix_only_where_the_code_would_see_its_value(
    cell: str, fixable: str, notebook: Notebook
) -> None:
    notebook.must("lr, flag = 0.5, jnp.asarray(1)")
    ran = notebook.run(f"%%jaxjit -q -n 1\n{cell}")
    assert (FIXED in ran.message) is bool(fixable)
    again = notebook.run(f"%%jaxjit -q -n 1 -s {fixable or 'x'}\n{cell}")
    assert (again.error is None) is bool(fixable)


def test_a_leaked_tracer_is_named_with_the_line_that_reads_it(notebook: Notebook) -> None:
    notebook.must("leaked = []\njax.jit(lambda v: leaked.append(v))(x)")
    error = notebook.run(jit("y = x + 1\nq = leaked[0] + y")).error
    assert type(error).__name__ == "UnexpectedTracerError"
    assert error is not None
    [note] = error.__notes__
    assert note.startswith("jaxscope: Line 3: `leaked` keeps a tracer of an earlier trace")
    notebook.must("del leaked")
    next_cell_works(notebook)


def test_a_line_says_nothing_of_errors_that_are_not_of_jax(notebook: Notebook) -> None:
    for line in ("%jaxjit user(nowhere)", "%jaxjit user(x, x)", "%jaxjit rows.index(7)"):
        ran = notebook.run(line)
        assert ran.error is not None
        assert "jaxscope: " not in ran.message


def next_cell_works(notebook: Notebook) -> None:
    ran = notebook.must("%%jaxjit -q -n 1\ngood = x * 2\ngood.sum()")
    assert float(ran.value) == 12.0
    del notebook.names["good"]


def refused(notebook: Notebook, cell: str) -> Ran:
    before = state(notebook)
    ran = notebook.run(cell)
    assert ran.error is not None, ran.text
    if "\ndef " in cell:  # function form: its definitions stay, as in plain Python
        for name in state(notebook).keys() - before.keys():
            del notebook.names[name]
    unchanged(before, state(notebook))
    next_cell_works(notebook)
    return ran


@pytest.mark.parametrize("name", CASES)
def test_bad_input_is_told_in_a_sentence_and_loses_nothing(name: str, notebook: Notebook) -> None:
    case = CASES[name]
    ran = refused(notebook, case.cell)
    assert type(ran.error).__name__ == case.kind
    for part in case.says:
        assert part in ran.message
    assert ran.message.count("jaxscope: ") <= 1
    if case.line is not None:
        assert next(line for file, line in ran.frames if file.startswith("<ipy")) == case.line
        assert not any("/jaxscope/" in file for file, _ in ran.frames)
        assert ran.frames[0][0].startswith("<ipython")


def test_a_helper_of_another_cell_is_the_innermost_frame(notebook: Notebook) -> None:
    ran = refused(notebook, jit("y = user(x)"))
    cells = [(file, line) for file, line in ran.frames if file.startswith("<ipython")]
    assert [line for _, line in cells] == [2, 16]
    assert cells[0][0] != cells[1][0]


def test_a_traceback_that_nobody_cut_would_show_our_frames(
    notebook: Notebook, monkeypatch: pytest.MonkeyPatch
) -> None:
    from jaxscope.magics import display

    monkeypatch.setattr(display, "without_our_frames", lambda error, file: error)
    ran = notebook.run(jit("y = nowhere"))
    assert any("/jaxscope/" in file for file, _ in ran.frames)


@pytest.mark.parametrize("body", ["# nothing\n# at all", "\n\n", "pass", '"""A text.""";'])
def test_a_cell_without_work_is_no_error(body: str, notebook: Notebook) -> None:
    before = state(notebook)
    assert notebook.run(jit(body, "-q")).error is None
    unchanged(before, state(notebook))
    next_cell_works(notebook)


def test_an_empty_cell_is_told_by_ipython(notebook: Notebook) -> None:
    assert "cell body is empty" in refused(notebook, "%%jaxjit").message


def test_ten_megabytes_of_source(notebook: Notebook) -> None:
    ran = refused(notebook, jit("y = [" + "1234567, " * 1_150_000 + "]"))
    assert "The cell has 10 MB of text, but the limit is 2 MB." in ran.message
    assert "Load the data from a file." in ran.message


def test_unicode_names(notebook: Notebook) -> None:
    ran = notebook.must(jit("größe = x * 2\n和 = größe.sum()\n和", "-n 1 -o bericht"))
    assert float(ran.value) == 12.0
    assert [v.name for v in notebook.names["bericht"].outputs][:2] == ["größe", "和"]
    for name in ("größe", "和", "bericht"):
        del notebook.names[name]


def test_an_error_line_is_right_behind_wide_characters(notebook: Notebook) -> None:
    ran = refused(notebook, jit("ж = '和和和'; y = nowhere"))
    assert ran.frames[-1][1] == 2


def test_a_donated_input_used_again(notebook: Notebook) -> None:
    notebook.must("gone = jnp.arange(5.0)")
    notebook.must(jit("gone2 = gone * 2", "-q -d gone"))
    for cell in (jit("gone3 = gone + 1"), "gone3 = gone + 1"):
        ran = notebook.run(cell)
        assert isinstance(ran.error, RuntimeError)
        assert "has been deleted" in ran.message
        if cell.startswith("%"):
            assert (
                "`gone` was donated to an earlier run, so its memory was reused: create it again "
                "before this run." in ran.message
            )
        assert "gone3" not in notebook.names
    del notebook.names["gone"], notebook.names["gone2"]
    next_cell_works(notebook)


def test_donated_parameters_used_again_are_named(notebook: Notebook) -> None:
    notebook.must(
        "tree, other = {'w': jnp.arange(5.0)}, {'b': jnp.ones(5)}\n"
        "jax.jit(lambda t, o: (t, o), donate_argnums=(0, 1))(tree, other)"
    )
    ran = notebook.run(jit("out = tree['w'] + 1"))
    assert "jaxscope: `tree` was donated to an earlier run, so its memory" in ran.message
    ran = notebook.run(jit("out = tree['w'] + other['b']"))
    assert "`tree` and `other` were donated to an earlier run, so their memory" in ran.message
    assert "create them again" in ran.message
    del notebook.names["tree"], notebook.names["other"]
    next_cell_works(notebook)


def test_a_donated_argument_of_a_jitted_call_used_again(notebook: Notebook) -> None:
    notebook.must(
        "taken = jnp.arange(5.0)\nadd = jax.jit(lambda a, b: a + b, donate_argnums=0)\n"
        "add(taken, jnp.ones(5))"
    )
    for magic in ("jaxjit", "jaxprof"):
        ran = notebook.run(f"%{magic} add(taken, jnp.ones(5))")
        assert "deleted" in ran.message
        assert "jaxscope: `taken` was donated to an earlier run" in ran.message
    del notebook.names["taken"], notebook.names["add"]
    next_cell_works(notebook)


def test_a_program_larger_than_memory(notebook: Notebook, monkeypatch: pytest.MonkeyPatch) -> None:
    from jaxscope.capture.devices import memory

    with monkeypatch.context() as patch:
        patch.setattr(memory, "free_bytes", lambda device: 100)
        before = state(notebook)
        ran = notebook.run(jit("y = jnp.outer(x, jnp.arange(64.0))"))
        unchanged(before, state(notebook))
    assert isinstance(ran.error, MemoryError)
    assert re.search(
        r"The program was not run: it needs 1.\d+ kB besides its inputs, but cpu:0 has 100 B "
        r"free\. Make its arrays smaller, free others, or donate inputs with `-d`\.",
        ran.message,
    )
    assert not any("/jaxscope/" in file for file, _ in ran.frames)
    next_cell_works(notebook)


def test_a_program_of_many_terabytes_is_compiled_and_not_run(notebook: Notebook) -> None:
    import jax
    import jax.numpy as jnp

    import jaxscope

    huge = jax.ShapeDtypeStruct((1 << 21, 1 << 21), jnp.float32)
    report = jaxscope.inspect(lambda v: (v @ v).sum(), huge)
    assert report.memory.peak > 1 << 43
    assert report.timings == ()
    ran = refused(notebook, jit("y = jnp.ones((1 << 21, 1 << 21)) @ jnp.ones((1 << 21, 1 << 21))"))
    assert isinstance(ran.error, MemoryError)
    assert "The program was not run: it needs " in ran.message


def test_callbacks_with_effects_run_exactly_once(notebook: Notebook) -> None:
    notebook.must(
        "from jax.experimental import io_callback\ncalls = []\n"
        "def note(v):\n    calls.append(float(v))\n    return np.float32(v)"
    )
    ran = notebook.must(
        jit(
            "jax.debug.print('sum {}', x.sum())\n"
            "y = io_callback(note, jax.ShapeDtypeStruct((), jnp.float32), x.sum(), ordered=True)\n"
            "jax.effects_barrier()\ny",
            "-o r",
        )
    )
    notebook.must("jax.effects_barrier()")
    assert notebook.names["calls"] == [6.0]
    assert float(ran.value) == 6.0
    assert [len(t.samples) for t in notebook.names["r"].timings] == [1]
    assert "the program has effects" in notebook.names["r"].timings[0].note
    for name in ("calls", "note", "io_callback", "y", "r"):
        del notebook.names[name]


def test_the_output_of_debug_print_is_not_lost(notebook: Notebook) -> None:
    ran = notebook.must(jit("jax.debug.print('sum {}', x.sum())\njax.effects_barrier()", "-q"))
    rest = notebook.must("jax.effects_barrier()")
    assert (ran.printed + rest.printed).count("sum 6.0") == 1


def test_an_interrupt_while_compiling(notebook: Notebook, monkeypatch: pytest.MonkeyPatch) -> None:
    import jax

    def interrupted(*args: Any, **kwargs: Any) -> Any:
        raise KeyboardInterrupt

    before = state(notebook)
    with monkeypatch.context() as patch:
        patch.setattr(jax.stages.Lowered, "compile", interrupted)
        ran = notebook.run(jit("y = x * 3"))
    assert isinstance(ran.error, KeyboardInterrupt)
    unchanged(before, state(notebook))
    next_cell_works(notebook)


def test_an_interrupt_while_timing_keeps_the_results(
    notebook: Notebook, monkeypatch: pytest.MonkeyPatch
) -> None:
    from jaxscope.capture.timing.sampling import Sampler

    def stop(*_: Any) -> None:
        raise KeyboardInterrupt

    def run(self: Sampler, first_s: float, until: float) -> None:
        # Timing takes some milliseconds at least; the signal comes in the middle of it.
        signal.setitimer(signal.ITIMER_REAL, 0.001)
        original(self, first_s, until)

    original = Sampler.run
    monkeypatch.setattr(Sampler, "run", run)
    old = signal.signal(signal.SIGALRM, stop)
    try:
        ran = notebook.run("%%jaxjit -q -o r\ny = x * 2\ny.sum()")
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, old)
    assert ran.error is None
    assert float(ran.value) == 12.0
    assert any("interrupted" in timing.note for timing in notebook.names["r"].timings)
    for name in ("y", "r"):
        del notebook.names[name]


WITHOUT_JAX = """
import sys
sys.modules["jax"] = None
sys.modules["jaxlib"] = None
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
shell.run_cell("%load_ext jaxscope").raise_error()
shell.run_cell("a = 1").raise_error()
shell.run_cell("%jaxscope").raise_error()
for cell in ("%%jaxjit\\nb = a + 1", "%jaxjit abs(a)"):
    error = shell.run_cell(cell).error_in_exec
    assert type(error).__name__ == "UsageError", repr(error)
    print(error)
assert "b" not in shell.user_ns
shell.run_cell("c = a + 1").raise_error()
print(shell.user_ns["c"])
"""


def test_a_python_without_jax() -> None:
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(WITHOUT_JAX)],
        capture_output=True,
        text=True,
        timeout=400,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    sentence = "%jaxjit needs JAX, which is not installed: run `%pip install jax`"
    assert done.stdout.count(sentence) == 2
    assert "not imported yet" in done.stdout
    assert done.stdout.splitlines()[-1] == "2"
