"""`%jaxtargets`: compilers of devices that are not here."""

from __future__ import annotations

from IPython.core.magic import line_magic, magics_class, no_var_expand

from jaxscope.magics import display
from jaxscope.magics.family import Completer, Family
from jaxscope.magics.options.parser import (
    Parser,
    action_completer,
    documented,
    require_jax,
    usage_error,
)
from jaxscope.magics.progress import Status

_ACTIONS = ("install", "remove")
_COMPILERS = ("tpu", "gpu")
_PARSER = Parser(
    "jaxtargets",
    "List the devices to compile for that need not be here, and install their compilers.",
    ("%jaxtargets", "%jaxtargets install tpu|gpu [--yes]", "%jaxtargets remove tpu|gpu"),
)
_PARSER.add_argument("action", nargs="?", choices=_ACTIONS, help="The action to take.")
_PARSER.add_argument("name", nargs="?", metavar="{tpu,gpu}", help="The compiler.")
_PARSER.add_argument("--yes", action="store_true", help="Download without a question.")
_EXAMPLES = """
    %jaxtargets                    what is installed, and its size
    %jaxtargets install tpu        say the size, and download it after --yes or a yes
    %jaxtargets remove tpu         delete it, of all versions of JAX
    %%jaxjit --target tpu:v5e:2x2  compile a cell for it
"""


@magics_class
class Targets(Family):
    """The compilers of other devices."""

    def completers(self) -> dict[str, Completer]:
        return {"%jaxtargets": action_completer(_PARSER, dict.fromkeys(_ACTIONS, _COMPILERS))}

    @no_var_expand
    @line_magic
    @documented(_PARSER, _EXAMPLES)
    def jaxtargets(self, line: str) -> None:
        __tracebackhide__ = True
        given = _PARSER.parse_args(line.split())
        if given.action is not None and given.name not in _COMPILERS:
            said = "needs a compiler: tpu or gpu"
            if given.name is not None:
                said = f"takes tpu or gpu, but got {given.name!r}"
            raise usage_error(f"%jaxtargets {given.action} {said}.")
        require_jax("jaxtargets")
        from jaxscope.capture.targets import listing
        from jaxscope.capture.targets.environment import TargetError

        try:
            if given.action is None:
                print(listing.table())  # noqa: T201
            elif given.action == "remove":
                display.say(listing.remove(given.name))
            else:
                self._install(given.name, yes=given.yes)
        except TargetError as error:
            raise usage_error(str(error)) from None

    def _install(self, name: str, *, yes: bool) -> None:
        from jaxscope.capture.targets import listing

        if known := listing.already(name):
            display.say(known)
            return
        display.say(listing.question(name))
        if not yes and not _confirmed():
            display.say(f"Nothing was downloaded. `%jaxtargets install {name} --yes` does it.")
            return
        with Status(self._shell) as status:
            display.say(listing.install(name, status.say))


def _confirmed() -> bool:
    """Whether the user says yes; no where the front end has no input."""
    try:
        return input("Download it? [y/N] ").strip().lower() in ("y", "yes")
    except Exception:  # EOFError, and ipykernel's StdinNotImplementedError
        return False
