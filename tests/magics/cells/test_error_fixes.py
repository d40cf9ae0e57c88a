"""Errors of cells whose fix does what it says, where the names of the cell cannot be compared."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from pathlib import Path

import jax
import numpy as np
import pytest
from IPython.core.interactiveshell import InteractiveShell

from jaxscope.capture.timing import timed_calls
from tests.magics.notebook import Notebook, open_notebook


@pytest.fixture
def notebook() -> Iterator[Notebook]:
    with open_notebook() as opened:
        opened.must("import jax, jax.numpy as jnp\nx = jnp.arange(3.0)")
        yield opened


def test_threads_that_get_python_numbers_are_kept(notebook: Notebook) -> None:
    notebook.must(
        "%%jaxjit -q -n 1\nfrom concurrent.futures import ThreadPoolExecutor\nimport threading\n"
        "with ThreadPoolExecutor(2) as pool:\n"
        "    squares = list(pool.map(lambda i: i * i, range(4)))\n"
        "worker = threading.Thread(target=abs, args=(3,))\nworker.start()\nworker.join()\n"
        "y = x * sum(squares)"
    )
    assert notebook.names["squares"] == [0, 1, 4, 9]
    assert not notebook.names["worker"].is_alive()
    np.testing.assert_array_equal(notebook.names["y"], [0, 14, 28])


def test_a_thread_that_keeps_a_tracer_is_refused(notebook: Notebook) -> None:
    ran = notebook.run(
        "%%jaxjit -q -n 1\nimport threading\nworker = threading.Thread(target=print, args=(x * 2,))"
    )
    assert "`worker` would keep an array inside a Thread" in ran.message


def test_a_thread_that_uses_a_tracer_is_named(notebook: Notebook) -> None:
    ran = notebook.run(
        "%%jaxjit -q -n 1\nfrom concurrent.futures import ThreadPoolExecutor\n"
        "with ThreadPoolExecutor(2) as pool:\n    ys = list(pool.map(jnp.sin, [x, x * 2]))"
    )
    assert "Line 4: A thread of the cell uses a traced value" in ran.message
    assert "after its trace" not in ran.message


@pytest.mark.parametrize("last", ["z = out[0]", "z = y"])
def test_a_plain_thread_that_uses_a_tracer_is_named(
    notebook: Notebook, capsys: pytest.CaptureFixture[str], last: str
) -> None:
    ran = notebook.run(
        "%%jaxjit -q -n 1\nimport threading\nout, y = [], x * 2\n"
        "worker = threading.Thread(target=lambda: out.append(y.sum()))\n"
        f"worker.start()\nworker.join()\n{last}"
    )
    assert "Line 4: a thread of the cell uses a traced value" in ran.message
    assert "y" not in notebook.names
    said = ran.printed + "".join(capsys.readouterr())
    assert "jaxscope: A thread of the cell uses a traced value" in said
    assert "checking_leaks" not in said


@pytest.mark.parametrize(
    "cell",
    [
        "%%jaxjit -q -n 1\nrows = (i for i in 'ab')\ny = x * 2",
        "%%jaxjit -q -n 1\ndef f(rows, v):\n    return v * 2\ny = f(iter([1]), x)",
        "%%jaxprof -q\nrows = map(abs, [1])\ny = x * 2",
    ],
)
def test_an_iterator_of_the_cell_gives_no_warning_of_jax(notebook: Notebook, cell: str) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        notebook.must(cell)
    assert not [str(one.message) for one in caught if "leaf in PyTree" in str(one.message)]


def test_a_compile_log_of_the_cell_is_kept(notebook: Notebook) -> None:
    notebook.must("%%jaxjit -q -n 1\nimport jaxscope\nwith jaxscope.watch() as log:\n    y = x * 2")
    assert type(notebook.names["log"]).__name__ == "CompileLog"
    np.testing.assert_array_equal(notebook.names["y"], [0, 2, 4])


RULE = """
@jax.custom_vjp
def double(v):
    return v * 2
double.defvjp(lambda v: (v * 2, None), lambda _, g: (g * 3,))
y = jax.grad(lambda v: double(v).sum())(x)
"""


def test_a_custom_rule_under_decorate_has_a_fix_that_works(notebook: Notebook) -> None:
    ran = notebook.run(f"%%jaxjit -q -n 1 --decorate\n{RULE}")
    assert "A jitted function has no `defvjp`" in ran.message
    assert "leave out `--decorate`" in ran.message
    notebook.must(f"%%jaxjit -q -n 1\n{RULE}")
    np.testing.assert_array_equal(notebook.names["y"], [3, 3, 3])


def test_a_checkpoint_of_traced_values_has_a_fix_that_works(
    notebook: Notebook, tmp_path: Path
) -> None:
    pytest.importorskip("orbax.checkpoint")
    notebook.must("import orbax.checkpoint\nsaver = orbax.checkpoint.PyTreeCheckpointer()")
    save = f"saver.save({str(tmp_path / 'step')!r}, {{'y': y}}, force=True)"
    ran = notebook.run(f"%%jaxjit -q -n 1\ny = x * 2\n{save}")
    # JAX 0.8 stops at the first attribute that orbax asks for.
    fixes = "has no data to write: write the result, in|has no `sharding`: ask the result"
    assert re.search(f"Line 3: A traced value ({fixes})", ran.message)
    notebook.must("%%jaxjit -q -n 1\ny = x * 2")
    notebook.must(save)
    assert (tmp_path / "step").exists()


MAGIC = "%%jaxjit -q -n 1\n"
STATE = """
import jax, dataclasses
@jax.tree_util.register_dataclass
@dataclasses.dataclass
class State:
    w: object
    n: object
v = State(x, 1)
"""
PLAIN = "class Layer: pass\nv = Layer()\nv.w, v.rows = x, [x]"
IN_PLACE = [
    # the value, the refused cell, the fix, and the cells that apply it
    (
        "v = {'a': x}",
        "v['b'] = x * 2",
        "`v = {**v, key: value}`",
        [MAGIC + "v = {**v, 'b': x * 2}"],
    ),
    ("v = [x]", "v.append(x * 2)", "`v = [*v, value]`", [MAGIC + "v = [*v, x * 2]"]),
    (
        "v = {1}",
        "v.add(2)\ny = x * len(v)",
        "`v = v | {value}`",
        [MAGIC + "v = v | {2}\ny = x * 2"],
    ),
    (
        STATE,
        "v.w = x * 2",
        "`v = dataclasses.replace(v, name=value)`",
        [MAGIC + "v = dataclasses.replace(v, w=x * 2)"],
    ),
    ("v = [2, 0]", "v.sort()\ny = x * v[0]", "", ["v.sort()", MAGIC + "y = x * v[0]"]),
    ("v = {'a': x}", "del v['a']\ny = x", "", ["del v['a']", MAGIC + "y = x"]),
    ("v = [x]", "v[0] = x * 2", "", [MAGIC + "new = x * 2", "v[0] = new"]),
    (PLAIN, "v.w = x * 2", "", [MAGIC + "new = x * 2", "v.w = new"]),
    (PLAIN, "v.rows.append(x * 2)", "", [MAGIC + "new = x * 2", "v.rows.append(new)"]),
    ("v = {'a': [x]}", "v['a'].append(x * 2)", "", [MAGIC + "new = x * 2", "v['a'].append(new)"]),
]


@pytest.mark.parametrize(("value", "cell", "fix", "fixed"), IN_PLACE)
def test_a_change_in_place_has_a_fix_that_works(
    notebook: Notebook, value: str, cell: str, fix: str, fixed: list[str]
) -> None:
    notebook.must(value)
    message = notebook.run(MAGIC + cell).message
    assert fix in message
    assert ("in a cell without the magic" in message) == (not fix)
    for one in fixed:
        notebook.must(one)
    names = {"x": notebook.names["x"]}
    exec(f"{value}\n{cell}", names)  # as plain Python
    found = [getattr(space["v"], "__dict__", space["v"]) for space in (notebook.names, names)]
    assert repr(found[0]) == repr(found[1])


@pytest.mark.parametrize("sign", ["+", "-", "**", "@"])
def test_an_array_with_a_second_name_is_updated_by_the_same_operator(
    notebook: Notebook, sign: str
) -> None:
    notebook.must("import numpy as np\nv = np.ones(3)\nother = v")
    message = notebook.run(f"{MAGIC}v {sign}= 2.0\ny = x * v").message
    assert f"Write `v = v {sign} ...` for a new array." in message


def test_an_object_that_is_made_on_many_lines_names_its_static_number(notebook: Notebook) -> None:
    pytest.importorskip("optax")
    notebook.must("import optax\nrate = 0.5")
    cell = "schedule = optax.exponential_decay(\n    init_value=rate,\n    transition_steps=9,\n"
    cell += "    decay_rate=0.9,\n)\ny = x * schedule(3)"
    assert "Run with `-s rate`" in notebook.run(MAGIC + cell).message
    notebook.must(f"%%jaxjit -q -n 1 -s rate\n{cell}")
    np.testing.assert_allclose(notebook.names["schedule"](0), 0.5)


def test_a_hijax_value_that_jax_cannot_lower_has_a_fix_that_works(notebook: Notebook) -> None:
    nnx = pytest.importorskip("flax.nnx")
    cell = "v = nnx.Variable(x, hijax=True)"
    plain = notebook.run(f"from flax import nnx\n{cell}")
    try:
        jax.jit(lambda x: nnx.Variable(x, hijax=True))(np.arange(3.0))
    except Exception:
        lowers = False
    else:
        lowers = True
    if lowers or plain.error is not None:
        pytest.skip("Flax has no such value here, or JAX lowers it")
    ran = notebook.run(MAGIC + cell)
    assert "JAX cannot lower the hijax values of this code" in ran.message
    assert "in a cell without the magic" in ran.message
    notebook.must(cell)


def test_an_array_made_of_pieces_has_a_fix_that_works(notebook: Notebook) -> None:
    notebook.must("where = x.sharding")
    made = "y = jax.make_array_from_single_device_arrays((3,), where, [z])"
    ran = notebook.run(f"{MAGIC}z = x * 2\n{made}")
    assert "Line 3: An array of pieces on devices" in ran.message
    assert "move this line to a cell without the magic" in ran.message
    notebook.must(f"{MAGIC}z = x * 2")
    notebook.must(made)
    np.testing.assert_array_equal(notebook.names["y"], [0, 2, 4])


def test_a_decision_that_makes_text_has_a_fix_that_works(notebook: Notebook) -> None:
    cell = "colors = ['red' if i in x else 'grey' for i in range(4)]"
    message = notebook.run(MAGIC + cell).message
    assert "`jax.lax.cond` for code, or a cell without the magic." in message
    notebook.must(cell)
    assert notebook.names["colors"] == ["red", "red", "red", "grey"]


JOIN = """
@jax.jit
def join(a):
    return jnp.concatenate([a, m], 1)
m = jnp.ones((4, 2))
"""[1:]
JOINED = """
                     f32[3,2]  f32[4,2]
    jnp.concatenate([a,        m], 1)"""
HALVE = """
@jax.jit
def halve(n):
    while n > 1:
        n = n / 2
    return n
halve(x[0])
"""[1:]
HALVED = "n = jax.lax.while_loop(lambda n: n > 1, lambda n: n / 2, n)"
SHAPES = "\n    f32[3]  f32[4]\n    x +     w"


@pytest.mark.parametrize(
    ("cell", "note"),
    [
        ("%%jaxjit\ndef add(x, w):\n    return x + w\nadd(x, jnp.ones(4))", f"Line 3:{SHAPES}"),
        ("%%jaxjit --block\nw = jnp.ones(4)\nx + w", f"Line 3:{SHAPES}"),
        ("%jaxjit (lambda w: x + w)(jnp.ones(4))", SHAPES),
        (f"%%jaxjit\n{JOIN}join(jnp.ones((3, 2)))", f"Line 4:{JOINED}"),
        (
            "%jaxjit (lambda v: v if v > 0 else -v)(x[0])",
            "`v` is traced. A traced value has no truth value: write `jnp.where(v > 0, v, -v)`.",
        ),
        (
            "%%jaxjit\nimport numpy as np\n@jax.jit\ndef sine(v):\n    return np.sin(v)\nsine(x)",
            "Line 5: NumPy needs the values of an array that is traced: write `jnp.sin(v)`.",
        ),
        (
            f"%%jaxjit\n{HALVE}",
            f"Line 4: `n` is traced. A traced value has no truth value: write `{HALVED}`.",
        ),
        ("%%jaxwatch\nw = jnp.ones(4)\nx + w", f"Line 3:{SHAPES}"),
        ("%%jaxprof\nw = jnp.ones(4)\nx + w", f"Line 3:{SHAPES}"),
        (
            "%%jaxwatch\njax.jit(lambda v: v if v > 0 else -v)(x[0])",
            "Line 2: write `jnp.where(v > 0, v, -v)`.",
        ),
    ],
)
def test_an_error_has_what_tracing_knew_of_its_expression(
    notebook: Notebook, cell: str, note: str
) -> None:
    message = notebook.run(cell).message
    assert message.endswith(f"\njaxscope: {note}" if not note.startswith("\n") else note)


@pytest.mark.parametrize(
    "body",
    [
        "def own(a):\n    if a.shape != (4,):\n        raise ValueError('its shape')\nown(x)",
        "def lost(a):\n    return a + nowhere\nlost(x)",
        "def free(a):\n    return a.reshape(7)\nfree(x)",
    ],
)
def test_nothing_is_added_where_nothing_is_known(notebook: Notebook, body: str) -> None:
    assert "jaxscope" not in notebook.run(f"%%jaxjit\n{body}").message


def test_a_traceback_has_neither_the_magic_nor_frames_of_jaxscope(notebook: Notebook) -> None:
    notebook.shell.InteractiveTB.set_mode("Context")  # IPython's default
    ran = notebook.run("%%jaxjit\ndef add(x, w):\n    return x + w\nadd(x, jnp.ones(4))")
    assert ran.error is not None
    shown = "\n".join(ran.error._render_traceback_())  # pyright: ignore
    assert "run_cell_magic" not in shown
    assert "jaxscope/" not in shown
    assert "During handling" not in shown.partition("line 4")[0]
    assert shown.index("line 4") < shown.index("line 3")
    ran = notebook.run("%%jaxjit\nimport a_module_that_is_not_here")
    assert isinstance(ran.error, ModuleNotFoundError)
    shown = "\n".join(ran.error._render_traceback_())  # pyright: ignore
    assert "run_cell_magic" not in shown
    assert "jaxscope/" not in shown


def test_the_traceback_of_a_call_of_the_cell_has_no_frame_without_text(notebook: Notebook) -> None:
    notebook.run("%jaxjit user_of_no_axis(x)")  # its text is not that of a call of a cell
    ran = notebook.run("%%jaxgrad\ndef f(v):\n    return jax.lax.psum(v, 'nowhere').sum()\nf(x)")
    assert isinstance(ran.error, NameError)
    assert all(file != "<call>" for file, _ in ran.frames)


def test_the_report_of_a_program_that_fails_says_so(
    notebook: Notebook, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(*_: object, **__: object) -> None:
        raise jax.errors.JaxRuntimeError("INTERNAL: out of memory")

    monkeypatch.setattr(timed_calls, "measure", failing)
    ran = notebook.must("%%jaxjit\ndef f(v):\n    return v * 2\ny = f(x)")
    assert "The program failed when it was timed (JaxRuntimeError: INTERNAL: out of" in ran.text
    assert "complete" not in ran.text


@pytest.mark.parametrize("stage", ["compile", "run"])
@pytest.mark.parametrize("cell", ["%%jaxjit\ny = jnp.sin(x) * 7", "y = %jaxjit jnp.sin(x)"])
def test_an_interrupt_of_a_program_has_a_line_of_the_cell_and_none_of_jax(
    notebook: Notebook, monkeypatch: pytest.MonkeyPatch, cell: str, stage: str
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    if stage == "compile":
        monkeypatch.setattr(jax.stages.Lowered, "compile", interrupted)
    else:
        monkeypatch.setattr(jax, "block_until_ready", interrupted)
    assert isinstance(_only_line(notebook, cell), KeyboardInterrupt)
    assert "y" not in notebook.names


@pytest.mark.parametrize("cell", ["%%jaxjit\ny = failing(x)", "y = %jaxjit failing(x)"])
def test_so_has_the_failure_of_a_program(notebook: Notebook, cell: str) -> None:
    notebook.must("def failing(v):\n    return jax.pure_callback(lambda v: 1 / 0, v, v)")
    assert isinstance(_only_line(notebook, cell), jax.errors.JaxRuntimeError)


def _only_line(notebook: Notebook, cell: str) -> BaseException:
    """The error of the cell, whose traceback has one frame: the first line of the cell."""
    notebook.shell.InteractiveTB.set_mode("Context")
    error = notebook.run(cell).error
    assert error is not None
    text = re.sub(r"\x1b\[[\d;]*m", "", "\n".join(error._render_traceback_()))  # pyright: ignore
    shown = text.partition(f"\n\n{type(error).__name__}: ")[0]
    assert f"----> 1 {cell.splitlines()[0].removeprefix('y = %jaxjit ')}" in shown
    assert len(re.findall(r"^(?:File|Cell) ", shown, re.MULTILINE)) == 1
    return error


JVP_OF_VJP = """
@jax.custom_vjp
def double(v):
    return v * 2
double.defvjp(lambda v: (v * 2, None), lambda _, g: (g * 2,))
"""


@pytest.mark.parametrize(
    ("options", "body"),
    [("--mode jvp", "double(x)"), ("", "jax.pure_callback(lambda v: v, x[0], x[0])")],
)
def test_the_traceback_of_a_transform_that_does_not_fit_is_of_the_cell(
    notebook: Notebook, options: str, body: str
) -> None:
    notebook.shell.InteractiveTB.set_mode("Context")
    notebook.must(JVP_OF_VJP)
    ran = notebook.run(f"%%jaxgrad -w x {options}\n{body}")
    assert ran.error is not None
    text = "\n".join(ran.error._render_traceback_())  # pyright: ignore
    assert "JAX cannot apply" in text
    assert f"----> 2 {body}" in re.sub(r"\x1b\[[\d;]*m", "", text)
    assert "jaxscope/" not in text
    assert "mlir.py" not in text


@pytest.mark.parametrize("magic", ["jaxjit", "jaxprof", "jaxgrad", "jaxwatch"])
def test_a_syntax_error_is_shown_as_without_the_magic(
    notebook: Notebook, capsys: pytest.CaptureFixture[str], magic: str
) -> None:
    files = {"y = (x +": 0, "eval('1 +') * x": 1}
    for body, others in files.items():
        error = notebook.run(f"%%{magic}\n{body}").error
        assert isinstance(error, SyntaxError)
        try:
            raise error
        except SyntaxError:
            InteractiveShell.showtraceback(notebook.shell, running_compiled_code=True)
        lines = re.sub(r"\x1b\[[\d;]*m", "", capsys.readouterr().out).splitlines()
        assert sum(line.startswith("  File") for line in lines) == others
        assert any(re.fullmatch(r"  Cell In\[\d+\], line 2", line) for line in lines)
    assert "showsyntaxerror" not in vars(notebook.shell)


@pytest.mark.parametrize(
    ("call", "words", "hidden"),
    [
        ("jax.jit(jnp.sin, compiler_options={'xla_no_such': 1})(x)", "No such comp", "pxla.py"),
        ("compiled(x[:1])", "Argument types differ", "During handling"),
    ],
)
def test_the_traceback_of_a_call_that_does_not_compile_or_run_is_short(
    notebook: Notebook, call: str, words: str, hidden: str
) -> None:
    notebook.shell.InteractiveTB.set_mode("Context")
    notebook.must("compiled = jax.jit(lambda v: v * 2, donate_argnums=0).lower(x).compile()")
    ran = notebook.run(f"%jaxjit {call}")
    assert ran.error is not None
    text = "\n".join(ran.error._render_traceback_())  # pyright: ignore
    assert words in text
    assert "jaxscope/" not in text
    assert hidden not in text


def test_an_nnx_object_merged_outside_of_a_derivative_is_changed_as_the_note_says(
    notebook: Notebook,
) -> None:
    pytest.importorskip("flax.nnx")
    notebook.must(
        "from flax import nnx\nnorm = nnx.BatchNorm(3, rngs=nnx.Rngs(0))\n"
        "graph, params, rest = nnx.split(norm, nnx.Param, ...)"
    )
    cell = (
        "%%jaxjit -q -n 1\ndef loss(params, rest):\n"
        "    return nnx.merge(graph, params, rest)(x[None]).sum()\n"
        "slope = jax.grad(loss)(params, rest)"
    )
    ran = notebook.run(cell)
    assert "copy it with `nnx.merge(..., copy=True)`" in ran.message
    notebook.must(cell.replace("rest)(x", "rest, copy=True)(x"))
    assert notebook.names["slope"]["bias"].shape == (3,)
