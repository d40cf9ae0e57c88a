"""A magic's options, refused in whole sentences."""

from __future__ import annotations

import argparse
import difflib
import importlib
import re
from collections.abc import Callable, Sequence
from typing import Any, NoReturn, TypeVar

from IPython.core.error import UsageError
from IPython.core.magic_arguments import MagicArgumentParser

_OF_OPTION = re.compile(r"argument (?P<option>\S+): (?P<said>.*)", re.S)
_CHOICE = re.compile(r"invalid choice: (?P<got>.*?) \(choose from (?P<choices>.*)\)", re.S)
_UNKNOWN = "unrecognized arguments: "


class _PageFormatter(argparse.RawDescriptionHelpFormatter):
    """IPython's own writes for Sphinx: `--view <{auto,text}>`."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=28, width=100)


class Parser(MagicArgumentParser):
    """Says what argparse says, as a sentence that names what may stand there.

    `forms` is how the magic is written, a line for each form.
    """

    def __init__(self, name: str, description: str, forms: Sequence[str] = ()) -> None:
        super().__init__(prog=name, description=description, add_help=False)
        self.formatter_class = _PageFormatter
        self.forms = tuple(forms)

    def format_help(self) -> str:
        """What the magic does, how it is written, its options."""
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
        raise UsageError(self.sentence(message))

    @property
    def flags(self) -> tuple[str, ...]:
        """Every way to write an option."""
        return tuple([name for action in self._actions for name in action.option_strings])

    @property
    def takes_value(self) -> dict[str, bool]:
        """Whether a value may stand behind an option."""
        return {
            name: action.nargs != 0 for action in self._actions for name in action.option_strings
        }

    def choices(self, option: str) -> list[str]:
        """What may stand behind an option that has choices."""
        found = [a.choices for a in self._actions if option in a.option_strings]
        return [str(choice) for choices in found for choice in choices or ()]

    def sentence(self, message: str) -> str:
        """What argparse says, as a whole sentence."""
        if message.startswith(_UNKNOWN):
            return self.unknown(message.removeprefix(_UNKNOWN).split()[0])
        of_option = _OF_OPTION.fullmatch(message)
        if of_option is None:
            return f"{message[:1].upper()}{message[1:]}."
        option, said = of_option["option"], of_option["said"]
        choice = _CHOICE.fullmatch(said)
        if choice is not None:
            *rest, last = [one.strip(" '") for one in choice["choices"].split(",")]
            return f"{option} takes {', '.join(rest)} or {last}, and got {choice['got']}."
        if said == "expected one argument":
            return f"{option} needs a value."
        return f"{option}: {said}."

    def unknown(self, given: str) -> str:
        """What is said of an option that does not exist."""
        magic = f"%{self.prog.split()[0]}"
        if not given.startswith("-"):
            return f"{magic} takes options only, and {given!r} is none. {self.page()}"
        return f"There is no option {given}.{self._meant(given)} {self.page()}"

    def page(self) -> str:
        """Where the options are listed."""
        return f"`%{self.prog.split()[0]}?` lists the options."

    def _meant(self, given: str) -> str:
        """The option that is spelled almost so: without its dashes, which make all look alike."""
        known = {name.lstrip("-"): name for name in self.flags}
        bare = given.partition("=")[0].lstrip("-")
        near = difflib.get_close_matches(bare, list(known), 1, 0.7) if len(bare) > 1 else []
        return f" Did you mean {known[near[0]]}?" if near else ""


F = TypeVar("F", bound=Callable[..., Any])


def documented(parser: Parser, examples: str) -> Callable[[F], F]:
    """Gives a magic its page: what it does, how it is written, its options, examples."""

    def set_page(function: F) -> F:
        function.__doc__ = f"{parser.format_help().strip()}\n\nexamples:\n{examples}"
        return function

    return set_page


def require_jax(magic: str) -> None:
    """Raises UsageError with the cure when there is no JAX."""
    try:
        importlib.import_module("jax")
    except ModuleNotFoundError as error:
        if error.name not in ("jax", "jaxlib"):
            raise
        raise UsageError(
            f"%{magic} needs JAX, and this Python has none: run `%pip install jax` and restart "
            "the kernel."
        ) from None
