"""Stored comparisons by name, to compare a later one with.

They lie in `$JAXSCOPE_BASELINES`, else in `$XDG_DATA_HOME/jaxscope/baselines`, else in
`~/.local/share/jaxscope/baselines`: one gzipped JSON file a name, with all rounds and the
environment. A name with a slash or an ending `.json` is a path of the user's own.
"""

from __future__ import annotations

import difflib
import os
import re
from pathlib import Path

from jaxscope.results.comparison import Comparison

_ENDING = ".json.gz"
_NAME = re.compile(r"[\w][\w .+-]{0,99}")


class BaselineError(LookupError):
    """There is no such baseline, or its name is none."""

    def __str__(self) -> str:
        return str(self.args[0])


def folder() -> Path:
    """Where baselines are kept; it is made when the first one is saved."""
    own = os.environ.get("JAXSCOPE_BASELINES")
    if own:
        return Path(own).expanduser()
    data = os.environ.get("XDG_DATA_HOME")
    return (Path(data) if data else Path.home() / ".local" / "share") / "jaxscope" / "baselines"


def names() -> tuple[str, ...]:
    """The names that are stored."""
    if not folder().is_dir():
        return ()
    found = [path.name.removesuffix(_ENDING) for path in folder().glob(f"*{_ENDING}")]
    return tuple(sorted(found))


def save(comparison: Comparison, name: str) -> Path:
    """Store under a name; an older one of that name is replaced."""
    path = _path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    # Half a file must never stand in for the old one.
    part = path.with_name(f".{os.getpid()}.{path.name}")
    comparison.save(part)
    os.replace(part, path)
    return path


def load(name: str) -> Comparison:
    """The comparison of that name. Raises BaselineError, or SchemaError for a file that is none."""
    path = _path(name)
    if path.is_file():
        return Comparison.load(path)
    there = names()
    near = difflib.get_close_matches(name, there, n=1)
    said = f"There is no baseline {name!r} in {folder()}."
    if near:
        said += f" Did you mean {near[0]!r}?"
    elif there:
        said += f" There are: {', '.join(there)}."
    else:
        said += f" None is stored yet: `--save {name}` stores one."
    raise BaselineError(said)


def check_name(name: str) -> None:
    """Raises BaselineError for what cannot be a name, before anything was measured."""
    _path(name)


def _path(name: str) -> Path:
    if "/" in name or os.sep in name or name.endswith((".json", ".gz")):
        return Path(name).expanduser()
    if not _NAME.fullmatch(name):
        raise BaselineError(
            f"{name!r} is no name for a baseline; use letters, digits, `-`, `_` and `.`, "
            "or give a path that ends in .json."
        )
    return folder() / f"{name}{_ENDING}"
