"""The replica groups of a collective in HLO text, in each of its spellings.

XLA has four, and one text may mix them:

- `{{0,1},{2,3}}` lists the groups, and `{}` means one group of all;
- `[4,2]<=[8]`, `[2,4]<=[4,2]T(1,0)` counts up, reshaped to the sizes on the right, transposed, and
  split into rows: ReplicaGroupList v2, xla/hlo/ir/collective_device_list.h;
- `mesh['data'=4,'model'=2] {'model'}` names the axes of a mesh along which the groups run (v3). An
  axis may be a part of one, `'data':(2)2`: what is left of it after a part of 2, and then 2 long;
- `source_target_pairs={{0,1},{1,0}}` of a permutation.
"""

import itertools
import math
import re

from jaxscope.analysis.hlo import numbers

_SET = re.compile(r"\{([\d,\s]*)\}")
_IOTA = re.compile(r"\[([\d,]+)\]<=\[([\d,]+)\](?:T\(([\d,]+)\))?")
_MESH = re.compile(r"mesh\[([^\]]*)\]")
_AXIS = re.compile(r"'((?:[^'\\]|\\.)*)'=(\d+)")
_ORDER = re.compile(r"device_ids=\(\[([\d,]+)\](?:T\(([\d,]+)\))?\)")
_LISTED = re.compile(r"device_ids=\(([\d,\s]+)\)")
_ALONG = re.compile(r"'((?:[^'\\]|\\.)*)'(?::\((\d+)\)(\d+))?")


class GroupTextError(ValueError):
    """A spelling of replica groups that is not supported."""


def read_groups(attributes: dict[str, str], devices: int) -> tuple[tuple[int, ...], ...]:
    """The groups of an instruction, from its attributes, in a program on that many devices.

    Devices are positions in the program's own list. Raises GroupTextError for a spelling that is
    not supported.
    """
    text = attributes.get("replica_groups", "").strip()
    if text.startswith("mesh["):
        # The order of the devices follows a comma, so it was read as an attribute.
        order = attributes.get("device_ids")
        return _along_mesh(text if order is None else f"{text}, device_ids={order}", devices)
    iota = _IOTA.fullmatch(text)
    if iota is not None:
        rows = numbers(iota[1])
        ids = _counted(numbers(iota[2]), numbers(iota[3] or ""))
        width = rows[-1] if len(rows) > 1 else math.prod(rows)
        return tuple(tuple(ids[i : i + width]) for i in range(0, len(ids), width))
    if text and not text.startswith("{"):
        raise GroupTextError(f"Unsupported replica groups: {text[:60]!r}.")
    sets = tuple(numbers(found) for found in _SET.findall(text))
    sets = tuple(found for found in sets if found)
    return sets or (tuple(range(devices)),)


def read_pairs(attributes: dict[str, str]) -> tuple[tuple[int, ...], ...]:
    """The (from, to) pairs of a permutation."""
    return tuple(
        numbers(found) for found in _SET.findall(attributes.get("source_target_pairs", ""))
    )


def _counted(sizes: tuple[int, ...], order: tuple[int, ...]) -> list[int]:
    """0, 1, 2 … reshaped to the sizes, transposed and flattened."""
    order = order or tuple(range(len(sizes)))
    strides = [math.prod(sizes[i + 1 :]) for i in range(len(sizes))]
    return [
        sum(place * strides[axis] for place, axis in zip(places, order, strict=True))
        for places in itertools.product(*(range(sizes[axis]) for axis in order))
    ]


def _along_mesh(text: str, devices: int) -> tuple[tuple[int, ...], ...]:
    mesh = _MESH.match(text)
    braces = re.search(r"\{([^{}]*)\}\s*$", text)
    if mesh is None or braces is None:
        raise GroupTextError(f"Unsupported replica groups: {text[:60]!r}.")
    sizes = {name: int(size) for name, size in _AXIS.findall(mesh[1])}
    order, listed = _ORDER.search(text), _LISTED.search(text)
    if order is not None:
        ids = _counted(numbers(order[1]), numbers(order[2] or ""))
    elif listed is not None:
        ids = list(numbers(listed[1]))
    else:
        ids = list(range(math.prod(sizes.values()) or devices))
    # Every axis becomes three: before the named part, the part, after it.
    parts: list[int] = []
    chosen: list[int] = []
    along = {name: (before, size) for name, before, size in _ALONG.findall(braces[1])}
    for name, size in sizes.items():
        before, part = along.get(name, ("1", "1"))
        first, middle = int(before or 1), int(part or size)
        if name in along:
            chosen.append(len(parts) + 1)
        parts += [first, middle, size // (first * middle)]
    strides = [math.prod(parts[i + 1 :]) for i in range(len(parts))]
    rest = [i for i in range(len(parts)) if i not in chosen]
    return tuple(
        tuple(
            ids[
                sum(p * strides[i] for p, i in zip(fixed, rest, strict=True))
                + sum(p * strides[i] for p, i in zip(moving, chosen, strict=True))
            ]
            for moving in itertools.product(*(range(parts[i]) for i in chosen))
        )
        for fixed in itertools.product(*(range(parts[i]) for i in rest))
    )
