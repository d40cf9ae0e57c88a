"""The figures as a page that is read: one section a measurement, one row a thing measured.

A row is a group of single figures of the JSON; lists are raw samples and stay there. The last
column says whether the group is within its budget, where it has one.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from jaxscope import words

_HERE = Path(__file__).parent
_INTRODUCTION = (
    "Written by `make bench`. The JSON files beside this page hold the raw samples. A budget that "
    "is exceeded stays here with its figure."
)
_JUDGED = {True: "within", False: "**over**"}


def page(folder: Path, names: Sequence[str]) -> str:
    """The folder's files in the order of the names, in Markdown."""
    lines = ["# Measured", "", _INTRODUCTION]
    for name in names:
        path = folder / f"{name}.json"
        if not path.exists():
            continue
        data = json.loads(path.read_text("utf-8"))
        lines += ["", f"## {name}", "", about(name), ""]
        lines += ["| what | figures | budget |", "|---|---|---|"]
        for what, group in groups(data["measured"]):
            lines.append(f"| {_cell(what)} | {_cell(figures(group))} | {judged(group)} |")
        lines += ["", where(data["environment"])]
    return "\n".join(lines) + "\n"


def about(name: str) -> str:
    """The first sentence of what the measurement says of itself."""
    text = ast.get_docstring(ast.parse((_HERE / f"{name}.py").read_text("utf-8"))) or ""
    first = " ".join(text.partition("\n\n")[0].split())
    return first.partition(": `python")[0].rstrip(".") + "."


def groups(found: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, dict[str, Any]]]:
    """The groups of figures by what they are of, in the order of the file."""
    single = {key: value for key, value in found.items() if is_figure(value)}
    if single:
        yield (" · ".join(path) or "all", single)
    for key, value in found.items():
        if isinstance(value, Mapping):
            yield from groups(value, (*path, key))


def is_figure(value: Any) -> bool:
    """Numbers, words and short lists of words; not raw samples."""
    if isinstance(value, list):
        return bool(value) and all(isinstance(item, str) for item in value)
    return isinstance(value, (bool, int, float, str))


def figures(group: Mapping[str, Any]) -> str:
    """`median 15 ms · budget 50 ms`; a value that stands alone needs no name."""
    named = {key: value for key, value in group.items() if key != "ok"}
    if list(named) in (["value"], ["count"]):
        return figure("", *named.values())[1]
    said = [figure(key, value) for key, value in sorted(named.items(), key=_order)]
    return " · ".join(f"{name} {shown}" for name, shown in said)


def figure(key: str, value: Any) -> tuple[str, str]:
    """A name without its unit, and the value in it."""
    name = key.replace("_", " ")
    if isinstance(value, bool):
        return name, "yes" if value else "no"
    if isinstance(value, list):
        return name, ", ".join(value)
    if isinstance(value, str):
        return name, value
    for ending, shown in (("_s", words.seconds), ("_bytes", words.size)):
        if key.endswith(ending):
            return key.removesuffix(ending).replace("_", " "), shown(value)
    return name, f"{value:.4g}" if isinstance(value, float) else str(value)


def judged(group: Mapping[str, Any]) -> str:
    return _JUDGED[group["ok"]] if "ok" in group else ""


def where(environment: Mapping[str, Any]) -> str:
    """When, on what, and with what load it was measured."""
    left = dict(environment)
    when = [left.pop(key) for key in ("date", "commit") if key in left]
    machine, load = left.pop("machine", ""), left.pop("load_1_min", None)
    parts = [" at ".join(when), ", ".join(f"{key} {value}" for key, value in left.items())]
    parts += [machine, "" if load is None else f"load {load:.1f} before"]
    return f"*{' · '.join(part for part in parts if part)}*"


def _order(item: tuple[str, Any]) -> tuple[bool, str]:
    """Budgets last."""
    return item[0].startswith("budget") or item[0].endswith("budget_s") or item[0] == "at_least", ""


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", "; ")
