"""The page of the figures: a table of the budgets, then one section per measurement.

A row is a group of single figures of the JSON; lists are raw samples and are left out. The last
column tells whether the group is within its budget, where it has one.
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
    "is exceeded stays here with its figure; the floor is the part of a ratio that none "
    "of our code can save."
)
_JUDGED = {True: "within", False: "**over**"}


def page(folder: Path, names: Sequence[str]) -> str:
    """The folder's files in the order of the names, in Markdown."""
    files = {name: folder / f"{name}.json" for name in names}
    found = {n: json.loads(f.read_text("utf-8")) for n, f in files.items() if f.exists()}
    lines = ["# Measured", "", _INTRODUCTION, *budgets(found)]
    for name, data in found.items():
        lines += ["", f"## {name}", "", about(name), ""]
        lines += ["| what | figures | budget |", "|---|---|---|"]
        for what, group in groups(data["measured"]):
            lines.append(f"| {_cell(what)} | {_cell(figures(group))} | {judged(group)} |")
        lines += ["", where(data["environment"])]
    return "\n".join(lines) + "\n"


def budgets(found: Mapping[str, Any]) -> Iterator[str]:
    """The table of all ratios to a yardstick of the same run; nothing where there is none."""
    rows = [
        (f"{name} · {what}".removesuffix(" · all"), group)
        for name, data in found.items()
        for what, group in groups(data["measured"])
        if "yardstick" in group and "budget" in group
    ]
    if rows:
        yield from (
            "",
            "| what | yardstick in the same run | ratio | floor | budget | |",
            "|---|---|---|---|---|---|",
        )
    for what, group in rows:
        ratio, floor, budget = (
            figure("", group[key])[1] if key in group else ""
            for key in ("ratio", "floor_ratio", "budget")
        )
        cells = (_cell(what), group["yardstick"], ratio, floor, budget, judged(group))
        yield f"| {' | '.join(cells)} |"


def about(name: str) -> str:
    """The first sentence of the measurement's docstring."""
    text = ast.get_docstring(ast.parse((_HERE / f"{name}.py").read_text("utf-8"))) or ""
    first = " ".join(text.partition("\n\n")[0].split())
    return first.partition(": `python")[0].rstrip(".") + "."


def groups(found: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, dict[str, Any]]]:
    """The groups of figures by their path, in the order of the file."""
    single = {key: value for key, value in found.items() if is_figure(value)}
    if single:
        yield (" · ".join(path) or "all", single)
    for key, value in found.items():
        if isinstance(value, Mapping):
            yield from groups(value, (*path, key))


def is_figure(value: Any) -> bool:
    """Whether a value is shown: numbers, words and lists of words, not raw samples."""
    if isinstance(value, list):
        return bool(value) and all(isinstance(item, str) for item in value)
    return isinstance(value, (bool, int, float, str))


def figures(group: Mapping[str, Any]) -> str:
    """`median 15 ms · budget 50 ms`; a single value without its name."""
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
    """Date, commit, versions, machine and its load before the measurement."""
    left = dict(environment)
    when = [left.pop(key) for key in ("date", "commit") if key in left]
    machine, load = left.pop("machine", ""), left.pop("load_1_min", None)
    parts = [" at ".join(when), ", ".join(f"{key} {value}" for key, value in left.items())]
    parts += [machine, "" if load is None else f"load {load:.1f} before"]
    return f"*{' · '.join(part for part in parts if part)}*"


def _order(item: tuple[str, Any]) -> tuple[bool, str]:
    """Sort budgets last."""
    return item[0].startswith("budget") or item[0].endswith("budget_s") or item[0] == "at_least", ""


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", "; ")
