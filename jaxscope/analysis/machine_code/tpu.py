"""The machine code of a TPU: very long instruction words, "bundles", from libtpu's dump.

libtpu writes one function per instruction of the optimized HLO, and one for the program that calls
them. Format: `final_bundles` and `final_hlo-static-per-bundle-utilization` of libtpu 0.0.42.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from jaxscope.analysis.machine_code.llvm import ListedFunction
from jaxscope.words import count, percent

# 1795537822964421-fusion.2-66-final_bundles.txt
_FILE = re.compile(r"(\d+)-(.+?)-\d+-final_(bundles|hlo-static-per-bundle-utilization)\.txt$")
PROGRAM = "TLP"
"""libtpu's name of the top-level program."""
_KEY = "= control target key"
_NAMED = re.compile(r"/\* (?:entry bundle: )?%([\w.\-]+) = ")
_SPILLS = ("VLOAD:FILL", "VSTORE:SPILL")
_WORTH = 0.005


def bundles(files: Mapping[str, str]) -> tuple[ListedFunction, ...]:
    """The program, named `TLP`, then its functions in the order in which they were compiled.

    Raises ValueError for a dump without them.
    """
    found: dict[str, tuple[int, dict[str, str]]] = {}
    for file, text in files.items():
        if match := _FILE.match(file):
            # A function that is compiled several times is written each time: the last is used.
            began, texts = int(match[1]), found.setdefault(match[2], (0, {}))[1]
            if began >= found[match[2]][0] or match[3] not in texts:
                texts[match[3]] = text
                found[match[2]] = (began, texts)
    order = sorted(found, key=lambda name: (name != PROGRAM, found[name][0]))
    made = [_bundles(name, found[name][1]) for name in order if "bundles" in found[name][1]]
    if not made:
        raise ValueError("this libtpu wrote no bundles")
    return tuple(made)


def named_instruction(line: str) -> str:
    """The instruction that a bundle of the program calls or starts; empty for others."""
    match = _NAMED.search(line)
    return match[1] if match else ""


def _bundles(name: str, texts: Mapping[str, str]) -> ListedFunction:
    lines = texts["bundles"].rstrip("\n").split("\n")
    keys = [number for number, line in enumerate(lines) if line.startswith(_KEY)]
    lines = lines[keys[-1] + 1 :] if keys else lines
    while lines and not lines[0].strip():
        lines = lines[1:]
    figures = tuple(_figures(texts.get("hlo-static-per-bundle-utilization", "")))
    return ListedFunction(name, tuple(line.rstrip() for line in lines), figures)


def _figures(text: str) -> Iterator[str]:
    lines = [line.strip() for line in text.split("\n") if line.strip()]
    try:
        units = [unit.strip() for unit in lines[1].split(",")]
        slots = [int(number) for number in lines[2].split()]
        rows = [[int(number) for number in line.split()] for line in lines[4:]]
    except (IndexError, ValueError):
        return
    if not rows or any(len(row) != len(units) for row in [slots, *rows]):
        return
    yield count(len(rows), "bundle")
    used = dict(zip(units, map(sum, zip(*rows, strict=True)), strict=True))
    for unit, number in zip(units, slots, strict=True):
        share = used[unit] / (number * len(rows))
        if unit not in _SPILLS and share >= _WORTH:
            yield f"{unit} {percent(share)}"
    if any(used.get(unit) for unit in _SPILLS):
        fills, spills = (used.get(unit, 0) for unit in _SPILLS)
        yield f"{count(spills, 'spill')}, {count(fills, 'fill')}"
