"""`python -m jaxscope`, and the console command `jaxscope`: targets to compile for."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from jaxscope.capture.targets import listing
from jaxscope.capture.targets.environment import COMPILERS, TargetError


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; the exit status."""
    parser = argparse.ArgumentParser("jaxscope", description="Inspect what JAX compiles.")
    commands = parser.add_subparsers(dest="command", required=True)
    targets = commands.add_parser("targets", help="Devices to compile for that are not here.")
    actions = targets.add_subparsers(dest="action")
    for action, text in (("install", "Download a compiler."), ("remove", "Delete a compiler.")):
        one = actions.add_parser(action, help=text)
        one.add_argument("name", choices=tuple(COMPILERS))
        if action == "install":
            one.add_argument("--yes", action="store_true", help="Do not ask.")
    given = parser.parse_args(arguments)
    try:
        if given.action == "install":
            return _install(given.name, yes=given.yes)
        if given.action == "remove":
            print(listing.remove(given.name))  # noqa: T201
            return 0
        print(listing.table())  # noqa: T201
    except TargetError as error:
        print(error, file=sys.stderr)  # noqa: T201
        return 1
    except KeyboardInterrupt:
        print("Interrupted: nothing was installed.", file=sys.stderr)  # noqa: T201
        return 130
    return 0


def _install(name: str, *, yes: bool) -> int:
    known = listing.already(name)
    if known:
        print(known)  # noqa: T201
        return 0
    print(listing.question(name))  # noqa: T201
    if not yes and not confirmed(name):
        return 1
    print(listing.install(name, lambda line: print(f"{line} …")))  # noqa: T201
    return 0


def confirmed(name: str) -> bool:
    """Whether the user says yes; prints what to do where there is no terminal."""
    try:
        if input("Download it? [y/N] ").strip().lower() in ("y", "yes"):
            return True
    except EOFError:
        print(f"To download it: `jaxscope targets install {name} --yes`.")  # noqa: T201
        return False
    print("Nothing was downloaded.")  # noqa: T201
    return False


if __name__ == "__main__":
    sys.exit(main())
