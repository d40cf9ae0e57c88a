"""Options of a magic: parsing with errors in whole sentences, help pages, completion."""

from __future__ import annotations

import argparse
import contextlib
import difflib
import importlib
import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn, TypeVar

from IPython.core.error import UsageError
from IPython.core.magic_arguments import MagicArgumentParser

from jaxscope import words
from jaxscope.view.base.visible import visible

T = TypeVar("T", int, float)
_OF_OPTION = re.compile(r"argument (?P<option>\S+): (?P<said>.*)", re.S)
_CHOICE = re.compile(r"invalid choice: (?P<got>.*?) \(choose from (?P<choices>.*)\)", re.S)
_UNKNOWN = "unrecognized arguments: "
_TAKE_NAMES = ("-s", "--static", "-t", "--traced", "-d", "--donate", "--only", "-w", "--wrt")
_TAKE_VALUES = ("--tangents", "--cotangent", "-i", "--in-axes")
_MODES = ("grad", "jvp", "vjp", "jacfwd", "jacrev", "hessian")
_TRANSFORMS = ("jit", "vmap", "pmap", "grad", "value_and_grad", "jacfwd", "jacrev", "hessian")
_OF_SEGMENT = (
    *("-w", "-i", "--mode", "--order", "--value", "--has-aux", "--out-axes", "--axis-name"),
)
_TARGETS = ("tpu:v4", "tpu:v5e:2x2", "tpu:v5p", "tpu:v6e", "gpu:a100", "gpu:h100", "cpu:4")
_DEVICES = ("cpu:0", "gpu:0", "tpu:0")


def usage_error(text: str) -> UsageError:
    """IPython's error, printed in one line without a traceback.

    It repeats what was typed, in which a notebook from elsewhere may hide escape sequences.
    IPython prints a subclass with a traceback.
    """
    return UsageError("\n".join(map(visible, text.split("\n"))))


class _PageFormatter(argparse.RawDescriptionHelpFormatter):
    """Plain text; IPython's own formatter writes for Sphinx: `--view <{auto,text}>`."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=28, width=100)


class Parser(MagicArgumentParser):
    """An argument parser whose errors are sentences that name the valid values.

    `forms` are the ways to write the magic, one line each.
    """

    def __init__(self, name: str, description: str, forms: Sequence[str] = ()) -> None:
        super().__init__(prog=name, description=description, add_help=False)
        self.formatter_class = _PageFormatter
        self.forms = tuple(forms)

    def add_display(
        self,
        noun: str,
        flag: str = "--report",
        views: Sequence[str] = ("auto", "widget", "html", "text"),
    ) -> None:
        """Add `-o`, `-q` and `--view`, which every magic with a result has."""
        self.add_argument("-o", flag, metavar="NAME", help=f"Bind the {noun} to NAME.")
        self.add_argument("-q", "--quiet", action="store_true", help="Show one line only.")
        self.add_argument("--view", choices=views, help="How to show it.")

    def format_help(self) -> str:
        """The help page: description, forms, options."""
        page = self._get_formatter()
        page.add_text(self.description)
        page.start_section("forms")
        page.add_text("\n".join(self.forms))
        page.end_section()
        page.start_section("options")
        page.add_arguments(self._actions)
        page.end_section()
        return page.format_help()

    def error(self, message: str) -> NoReturn:
        """Raises UsageError."""
        raise usage_error(self.sentence(message))

    @property
    def flags(self) -> tuple[str, ...]:
        """All option strings."""
        return tuple(self.takes_value)

    @property
    def takes_value(self) -> dict[str, bool]:
        """Whether an option takes a value, by option string."""
        return {name: a.nargs != 0 for a in self._actions for name in a.option_strings}

    def choices(self, option: str) -> list[str]:
        """The choices of an option."""
        found = [a.choices for a in self._actions if option in a.option_strings]
        return [str(choice) for choices in found for choice in choices or ()]

    def sentence(self, message: str) -> str:
        """argparse's message as a whole sentence."""
        if message.startswith(_UNKNOWN):
            return self.unknown(message.removeprefix(_UNKNOWN).split()[0])
        of_option = _OF_OPTION.fullmatch(message)
        if of_option is None:
            return f"{message[:1].upper()}{message[1:]}."
        option, said = of_option["option"], of_option["said"]
        choice = _CHOICE.fullmatch(said)
        if choice is not None:
            choices = [one.strip(" '") for one in choice["choices"].split(",")]
            if not option.startswith("-"):  # the action of a magic
                option = f"%{self.prog}"
            return f"{option} takes {words.listed(choices, last='or')}, but got {choice['got']}."
        if said == "expected one argument":
            return f"{option} needs a value."
        return f"{option}: {said}."

    def unknown(self, given: str) -> str:
        """The error for an option that does not exist."""
        magic = f"%{self.prog.split()[0]}"
        if not given.startswith("-"):
            return f"{magic} takes only options, but got {given!r}. {self.page()}"
        # The closest option, compared without dashes, which make all options similar.
        known = {name.lstrip("-"): name for name in self.flags}
        bare = given.partition("=")[0].lstrip("-")
        near = difflib.get_close_matches(bare, known, 1, 0.7) if len(bare) > 1 else []
        meant = f" Did you mean {known[near[0]]}?" if near else ""
        return f"There is no option {given}.{meant} {self.page()}"

    def page(self) -> str:
        """A pointer to the list of options."""
        return f"`%{self.prog.split()[0]}?` lists the options."


def number(kind: type[T], fits: Callable[[T], bool], what: str) -> Callable[[str], T]:
    """The `type` of an option that takes such a number; `what` names it in the error."""

    def read(text: str) -> T:
        with contextlib.suppress(ValueError):
            value = kind(text)
            if fits(value):
                return value
        raise argparse.ArgumentTypeError(f"{text!r} is not {what}")

    return read


SECONDS = number(float, lambda s: 0 <= s < math.inf, "a number of seconds, such as 0.5")

ENGINES = "Run it on every engine of %%jaxcluster."
"""The help of `--engines`."""

F = TypeVar("F", bound=Callable[..., Any])


def documented(parser: Parser, examples: str) -> Callable[[F], F]:
    """Set the help page of a magic: description, forms, options, examples."""

    def set_page(function: F) -> F:
        function.__doc__ = f"{parser.format_help().strip()}\n\nexamples:\n{examples}"
        return function

    return set_page


def require_jax(magic: str) -> None:
    """Raises UsageError with the fix when JAX is not installed."""
    try:
        importlib.import_module("jax")
    except ModuleNotFoundError as error:
        if error.name not in ("jax", "jaxlib"):
            raise
        raise usage_error(
            f"%{magic} needs JAX, which is not installed: run `%pip install jax` and restart the "
            "kernel."
        ) from None


def completer(
    parser: Parser, names: Callable[[], Mapping[str, Any]], *, composition: bool = False
) -> Callable[[Any, Any], list[str]]:
    """A handler for IPython's `complete_command` hook; `composition` adds the transforms."""
    flags = sorted(parser.flags)

    def complete(shell: Any, event: Any) -> list[str]:
        before = event.line[: len(event.line) - len(event.symbol)].split()
        if before and before[-1] in (*_TAKE_NAMES, *_TAKE_VALUES):
            return [name for name in names() if not name.startswith("_")]
        if before and before[-1] == "--mode":
            return list(_MODES)
        if before and before[-1] == "--device":
            return list(_DEVICES)
        if before and before[-1] == "--target":
            return list(_TARGETS)
        if before and (choices := parser.choices(before[-1])):
            return choices
        if composition and (len(before) == 1 or before[-1] == "|"):
            return [*_TRANSFORMS, *flags]
        return [*flags, *_OF_SEGMENT, "|"] if composition else flags

    return complete


def action_completer(
    parser: Parser, actions: Mapping[str, Sequence[str]]
) -> Callable[[Any, Any], list[str]]:
    """As `completer`, for a magic whose first word is an action; each has its values."""
    flags = completer(parser, dict[str, Any])

    def complete(shell: Any, event: Any) -> list[str]:
        words = event.line[: len(event.line) - len(event.symbol)].split()
        if len(words) < 2:
            return list(actions)
        return list(actions.get(words[-1], ())) or flags(shell, event)

    return complete
