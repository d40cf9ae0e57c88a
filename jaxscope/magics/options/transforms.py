"""Options that the transforms share: parsing of a magic line, and its remainder."""

from __future__ import annotations

import argparse
import ast
import contextlib
import keyword
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from jaxscope.analysis.python.cell import CellSyntax
from jaxscope.magics.options.parser import ENGINES, SECONDS, Parser, number, usage_error

if TYPE_CHECKING:
    from jaxscope.capture.options.profile_plan import ProfilePlan

NAMES: dict[str, Any] = {"action": "append", "default": [], "metavar": "NAMES"}


def _named(metavar: str) -> dict[str, Any]:
    return {**NAMES, "metavar": metavar}


_RUNS = number(int, lambda n: n >= 0, "a number of runs: 0 (compile only), 1 (run once) or more")
_TOKEN = re.compile(r"\s*((?:\"[^\"]*\"|'[^']*'|\S)+)")


def split(line: str, parser: Parser) -> tuple[list[str], str]:
    """The options of a magic line and the rest, verbatim.

    Options end at the first token that is not one, or at `--`, so that the rest may hold anything:
    `%jaxjit -n 3 f(x, -y)`.
    """
    takes_value = parser.takes_value
    tokens: list[str] = []
    at = 0
    while match := _TOKEN.match(line, at):
        token = match.group(1)
        if token == "--":
            return tokens, line[match.end() :].strip()
        name = token.partition("=")[0]
        if not token.startswith("-") or (name not in takes_value and _is_python(token)):
            break
        tokens.append(token)
        at = match.end()
        if takes_value.get(token) and (value := _TOKEN.match(line, at)):
            tokens.append(value.group(1).strip("\"'"))
            at = value.end()
    return tokens, line[at:].strip()


def parser(name: str, description: str, stack: str = "") -> Parser:
    """The parser of one transform's magic, with the options that all transforms share."""
    forms = (f"%%{name} [options]{stack}", f"%{name} [options]{stack} f(x, y)")
    made = Parser(name, description, forms)
    add = made.add_argument
    add("-s", "--static", **NAMES, help="Static arguments: compile-time constants.")
    text = "Trace these ints or bools, which are static by default."
    add("-t", "--traced", **NAMES, help=text)
    add("-d", "--donate", **NAMES, help="Donate these inputs' buffers to the results.")
    add("--device", metavar="DEV", help="Device: cpu:1, gpu, tpu:0.")
    text = (
        "Compile for these devices and run nothing: tpu:v5e:2x2, gpu:h100, cpu:4. Several give a "
        "table."
    )
    add("--target", **_named("TARGETS"), help=text)
    text = "Shard the inputs over a mesh of the target's devices: data=2,model=2."
    add("--mesh", **_named("AXES"), help=text)
    text = "The sharding of an input on the mesh: x=data,None."
    add("--spec", **_named("NAME=AXES"), help=text)
    text = (
        "Run exactly N times; 0 compiles only, 1 never repeats. Default: as many as fit in half a "
        "second."
    )
    add("-n", "--runs", type=_RUNS, metavar="N", help=text)
    add("--profile", action="store_true", help="Profile the program line by line.")
    add_profile(made)
    add("--compile-time", action="store_true", help="Show the compile time by line.")
    add("--x64", action="store_true", help="Enable 64-bit types.")
    add("--engines", choices=("all",), help=ENGINES)
    made.add_display("Report")
    add("--block", action="store_true", help="Compile the whole cell, definitions too.")
    add("--decorate", action="store_true", help="Bind the cell's entry points as jax.jit(f).")
    add("--only", **NAMES, help="Compile calls to these functions only.")
    return made


def add_profile(parser: Parser) -> None:
    """Add the options of a profile; those of links apart, each requests one."""
    add = parser.add_argument
    text = "Do not compile a function that has run before again to link its lines."
    add("--no-recompile", action="store_true", help=text)
    text = "Follow the passes of XLA to settle inferred links: one more compilation."
    add("--exact", action="store_true", help=text)
    text = "Also profile with optimization barriers between lines: one more compilation."
    add("--isolate-lines", action="store_true", help=text)
    text = "Also profile a call with so many instructions that it takes long."
    add("--all-events", action="store_true", help=text)
    text = "Wait up to SECONDS for another profiler session to end."
    add("--wait", type=SECONDS, metavar="SECONDS", help=text)


def parse(line: str, using: Parser, default_view: str = "auto") -> argparse.Namespace:
    """The options of a magic line, and as `rest` the text after them, as it was typed.

    Raises UsageError for invalid options.
    """
    tokens, rest = split(line, using)
    found = using.parse_args(tokens)
    if found.block and found.decorate:
        raise usage_error("--block and --decorate exclude each other; use one of them.")
    if found.decorate and found.target:
        raise usage_error("--decorate binds functions to run; leave it out with --target.")
    for option in ("static", "traced", "donate", "only"):
        setattr(found, option, names(getattr(found, option)))
    found.target = [one for text in found.target for one in text.split(",")]
    found.view = found.view or default_view
    found.rest = rest
    return found


def plan(found: argparse.Namespace, *, always: bool = False) -> ProfilePlan | None:
    """The requested profile; None where no option requests one."""
    from jaxscope.capture.options.profile_plan import ProfilePlan

    asked = (found.isolate_lines, found.all_events, found.wait is not None)
    if not (always or any(asked) or found.profile):
        return None
    return ProfilePlan(
        isolate_lines=found.isolate_lines, all_events=found.all_events, wait_s=found.wait or 0.0
    )


def check_form(magic: str, cell: str | None, rest: str, call: str) -> None:
    """Raises UsageError for a cell with text after its options, and for a line without a call."""
    if cell is not None and rest:
        words = re.findall(r"[^\s,]+", rest)
        if magic == "jaxgrad" and all(is_name(word) for word in words):
            instead = f"To differentiate by these, write %%{magic} -w {','.join(words)}"
        elif "(" in call:
            instead = f"For one call, write %{magic} {call}"
        else:
            instead = f"`%{magic}?` lists the options."
        raise usage_error(f"%%{magic} takes only options, but got {rest!r}. {instead}")
    if cell is None and not rest:
        raise usage_error(
            f"%{magic} needs a call, such as %{magic} f(x, y). For a cell, write %%{magic}."
        )


def is_name(text: str) -> bool:
    """Whether the text is a valid name of a variable."""
    return text.isidentifier() and not keyword.iskeyword(text)


def check_name(given: str | None, what: str) -> None:
    """Raises UsageError for a value of `-o` that is not a name."""
    if given is not None and not is_name(given):
        raise usage_error(f"-o needs a name for the {what}, but got {given!r}.")


def check_report_name(given: str | None, syntax: CellSyntax, what: str = "this cell") -> None:
    """Raises UsageError for a value of `-o` that the cell uses itself."""
    if given is not None and given in (*syntax.bound, *syntax.reads):
        raise usage_error(
            f"-o names `{given}`, which {what} uses itself, so the report would replace its "
            "value. Choose a different name."
        )


def check_report_name_in(given: str | None, text: str, what: str = "this cell") -> None:
    """The same for text that may not be Python, which its reader reports."""
    if given is not None:
        with contextlib.suppress(SyntaxError):
            check_report_name(given, CellSyntax(ast.parse(text)), what)


def names(given: Sequence[str]) -> tuple[str, ...]:
    """`-s a,b -s c` → a, b, c."""
    found = [name.strip() for text in given for name in text.split(",")]
    for name in found:
        whole = re.match(r"\w+(?=[.\[])", name)
        if whole is not None and is_name(whole[0]):
            raise usage_error(
                f"{name!r} is not a name; give names separated by commas: {whole[0]}. For a part "
                "of it, bind the part to a name in an earlier cell."
            )
        if not is_name(name):
            raise usage_error(f"{name!r} is not a name; give names separated by commas: n,mode")
    return tuple(dict.fromkeys(found))


def _is_python(token: str) -> bool:
    """`-x` in `%jaxjit -x` could be the start of an expression such as `-f(x)`."""
    return not re.fullmatch(r"--?[A-Za-z][\w-]*(=.*)?", token)
