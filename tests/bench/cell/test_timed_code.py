"""A section as a function: what runs once, what is timed, what goes in."""

from __future__ import annotations

import ast

import pytest

from jaxscope.bench.cell.sections import CellError, CellSection, sections
from jaxscope.bench.cell.timed_code import TIMED, TimedCode, describe_error, timed_code


def section(text: str) -> CellSection:
    return sections(f"# numpy\n{text}", ("numpy",))[0]


def made(text: str, inputs: tuple[str, ...] = ("x",)) -> TimedCode:
    return timed_code(section(text), inputs)


def source(text: str, inputs: tuple[str, ...] = ("x",)) -> str:
    return ast.unparse(made(text, inputs).module(inputs))


def test_the_last_expression_is_returned():
    assert source("y = x + 1\ny * 2") == "def timed(x):\n    y = x + 1\n    return y * 2"


@pytest.mark.parametrize(
    ("text", "returned"),
    [
        ("y = x", "y"),
        ("a, b = x, x", "(a, b)"),
        ("y: float = x", "y"),
        ("x += 1", "x"),
    ],
)
def test_an_assignment_at_the_end_returns_what_it_assigned(text: str, returned: str):
    assert source(text).endswith(f"return {returned}")


def test_imports_and_definitions_run_once():
    text = source("import math\ndef f(a):\n    return a * math.pi\nf(x)")
    assert text.index("def f") < text.index("def timed")
    assert text.endswith("def timed(x):\n    return f(x)")


def test_a_definition_that_reads_an_input_or_a_timed_name_stays_with_the_timed_code():
    for text in ("def f():\n    return x\nf()", "k = 3\ndef f(a):\n    return a * k\nf(x)"):
        code = source(text)
        assert code.index("def timed") < code.index("def f")


def test_a_definition_that_needs_a_late_one_is_late_too():
    code = source("def f():\n    return x\ndef g():\n    return f()\ng()")
    assert code.index("def timed") < code.index("def g")


def test_a_section_that_ends_with_a_function_times_its_call():
    assert source("def f(x):\n    return x").endswith("def timed(x):\n    return f(x)")


def test_what_is_read_from_outside_is_known():
    found = made("def f(a):\n    return np.tanh(a) * w\ny = f(x)\ny + k")
    assert found.reads == ("x", "k", "np", "w")


def test_line_numbers_are_those_of_the_cell():
    module = made("y = x\n\ny / 0").module(("x",))
    code = compile(module, "<cell>", "exec")
    names: dict[str, object] = {}
    exec(code, names)
    with pytest.raises(ZeroDivisionError) as caught:
        names["timed"](1)  # type: ignore[operator]
    assert caught.tb.tb_next is not None
    assert caught.tb.tb_next.tb_lineno == 5


@pytest.mark.parametrize(
    ("text", "says", "line"),
    [
        ("for i in x:\n    pass", "compared, or put the loop into a function", 3),
        ("x[0] = 1", "statement (assign) that has no value", 3),
        ("import math", "holds only imports and definitions", 2),
        ("def f(y):\n    return y", "no array or number is named `y` to call it with. Give it", 3),
        ("%time x", "Line 3, `%time x`, is a magic command", 3),
        ("return x", "Line 3, `return x`, is outside a function", 3),
    ],
)
def test_code_that_cannot_be_timed_is_reported_with_its_line(text: str, says: str, line: int):
    with pytest.raises(CellError) as caught:
        made(text)
    assert says in str(caught.value)
    assert caught.value.line == line


def test_a_syntax_error_has_the_line_of_the_cell():
    with pytest.raises(SyntaxError) as caught:
        made("y = x\ny = = 2")
    assert caught.value.lineno == 4


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Argument '0    1.0\n1    2.0' of type Series is not a JAX type.\nMore.",
         "Argument '0    1.0…' of type Series is not a JAX type"),
        ("one can't\ntell 'it' from that", "one can't"),
        ("unknown 'name'\nin 'here'", "unknown 'name'"),
    ],
)  # fmt: skip
def test_a_quoted_text_of_several_lines_does_not_end_the_sentence_of_an_error(
    text: str, shown: str
):
    assert describe_error(ValueError(text)) == f"ValueError: {shown}"


def test_a_name_that_the_timed_call_does_not_find_is_an_input_without_a_value() -> None:
    with pytest.raises(NameError) as caught:
        exec(f"def {TIMED}():\n    return f(n)\n{TIMED}()", {"f": abs})
    assert describe_error(caught.value).endswith(
        "name 'n' is not defined. Define it, or give the input a value: `n=3`, `n=normal(1000)`"
    )
