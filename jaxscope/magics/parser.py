"""A magic's options, refused in whole sentences."""

from __future__ import annotations

import difflib
import re
from typing import NoReturn

from IPython.core.error import UsageError
from IPython.core.magic_arguments import MagicArgumentParser

_OF_OPTION = re.compile(r"argument (?P<option>\S+): (?P<said>.*)", re.S)
_CHOICE = re.compile(r"invalid choice: (?P<got>.*?) \(choose from (?P<choices>.*)\)", re.S)
_UNKNOWN = "unrecognized arguments: "


class Parser(MagicArgumentParser):
    """Says what argparse says, as a sentence that names what may stand there."""

    def error(self, message: str) -> NoReturn:
        """Raises UsageError."""
        raise UsageError(self.sentence(message))

    def sentence(self, message: str) -> str:
        """What argparse says, as a whole sentence."""
        if message.startswith(_UNKNOWN):
            return self._unknown(message.removeprefix(_UNKNOWN).split()[0])
        of_option = _OF_OPTION.fullmatch(message)
        if of_option is None:
            return f"{message[:1].upper()}{message[1:]}."
        option, said = of_option["option"].split("/")[-1], of_option["said"]
        choice = _CHOICE.fullmatch(said)
        if choice is not None:
            *rest, last = [one.strip(" '") for one in choice["choices"].split(",")]
            return f"{option} takes {', '.join(rest)} or {last}, and got {choice['got']}."
        if said == "expected one argument":
            return f"{option} needs a value."
        return f"{option}: {said}."

    def _unknown(self, given: str) -> str:
        known = [name for action in self._actions for name in action.option_strings]
        near = difflib.get_close_matches(given.partition("=")[0], known, 1, 0.7)
        meant = f" Did you mean {near[0]}?" if near else ""
        return f"There is no option {given}.{meant} `%{self.prog.split()[0]}?` lists the options."
