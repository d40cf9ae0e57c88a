"""Stored comparisons by name, to compare later ones with.

They are in `$JAXSCOPE_BASELINES`, else in `$XDG_DATA_HOME/jaxscope/baselines`, else in
`~/.local/share/jaxscope/baselines`: one gzipped JSON file per name, with all rounds and the
environment. A name with a slash or the ending `.json` is a path.
"""

from __future__ import annotations

import difflib
import os
import re
from pathlib import Path

from jaxscope.results.base import read
from jaxscope.results.comparison import Comparison

_ENDING = ".json.gz"
_NAME = re.compile(r"[\w][\w .+-]{0,99}")


class BaselineError(LookupError):
    """The baseline does not exist, or its name is not valid."""

    def __str__(self) -> str:
        return str(self.args[0])


def folder() -> Path:
    """The folder of the baselines; created when the first one is saved."""
    own = os.environ.get("JAXSCOPE_BASELINES")
    if own:
        return Path(own).expanduser()
    data = os.environ.get("XDG_DATA_HOME")
    return (Path(data) if data else Path.home() / ".local" / "share") / "jaxscope" / "baselines"


def names() -> tuple[str, ...]:
    """The names of the stored baselines."""
    if not folder().is_dir():
        return ()
    found = [path.name.removesuffix(_ENDING) for path in folder().glob(f"*{_ENDING}")]
    return tuple(sorted(found))


def save(comparison: Comparison, name: str) -> Path:
    """Store under a name, replacing an older one of that name."""
    path = path_of(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    return comparison.save(path)


def load(name: str) -> Comparison:
    """The comparison of that name. Raises BaselineError, or SchemaError for any other file."""
    path = path_of(name)
    if path.is_file():
        return read(path, (Comparison,))
    if path.parent != folder():
        raise BaselineError(f"There is no baseline {path}; `--save {name}` stores one.")
    there = names()
    near = difflib.get_close_matches(name, there, n=1)
    text = f"There is no baseline {name!r} in {folder()}."
    if near:
        text += f" Did you mean {near[0]!r}?"
    elif there:
        text += f" There are: {', '.join(there)}."
    else:
        text += f" None is stored yet; `--save {name}` stores one."
    raise BaselineError(text)


def path_of(name: str) -> Path:
    """The file of a name. Raises BaselineError for an invalid one."""
    if "/" in name or os.sep in name or name.endswith((".json", ".gz")):
        return Path(name).expanduser()
    if not _NAME.fullmatch(name):
        raise BaselineError(
            f"{name!r} is not a valid name for a baseline. Use letters, digits, `-`, `_` and `.`, "
            "or a path that ends in .json."
        )
    return folder() / f"{name}{_ENDING}"
