"""Live arrays by the line that created them, from JAX's device memory profile.

`jax.profiler.device_memory_profile()` returns a gzipped pprof message in which each live buffer has
the Python stack that created it. Source of the field numbers: google/pprof, proto/profile.proto.
"""

import collections
import gzip
from collections.abc import Callable
from dataclasses import dataclass

from jaxscope.analysis import protobuf as pb

_SAMPLES, _LOCATIONS, _FUNCTIONS, _STRINGS = 2, 4, 5, 6
_SAMPLE_LOCATIONS, _SAMPLE_VALUES, _SAMPLE_LABELS = 1, 2, 3
_LABEL_KEY, _LABEL_TEXT = 1, 2
_ID, _LINES, _LINE_FUNCTION, _LINE_NUMBER = 1, 4, 1, 2
_NAME, _FILE = 2, 4


@dataclass(frozen=True, slots=True)
class BufferAllocations:
    """Live buffers with one Python stack."""

    frames: tuple[tuple[str, str, int], ...]
    """File, function and line, innermost first."""
    count: int
    bytes: int


def live_buffers(profile: bytes) -> tuple[BufferAllocations, ...]:
    """The buffers of a device memory profile, gzipped as JAX returns it."""
    data = gzip.decompress(profile)
    strings = [bytes(text).decode("utf-8", "replace") for text in pb.submessages(data, _STRINGS)]
    functions = {
        pb.number(function, _ID): (
            strings[pb.number(function, _FILE)],
            strings[pb.number(function, _NAME)],
        )
        for function in pb.submessages(data, _FUNCTIONS)
    }
    places: dict[int, tuple[str, str, int]] = {}
    for location in pb.submessages(data, _LOCATIONS):
        line = pb.submessage(location, _LINES)
        file, name = functions.get(pb.number(line, _LINE_FUNCTION), ("", ""))
        places[pb.number(location, _ID)] = (file, name, pb.number(line, _LINE_NUMBER))
    found: list[BufferAllocations] = []
    for sample in pb.submessages(data, _SAMPLES):
        labels = {
            strings[pb.number(label, _LABEL_KEY)]: strings[pb.number(label, _LABEL_TEXT)]
            for label in pb.submessages(sample, _SAMPLE_LABELS)
        }
        if labels.get("kind") != "buffer":
            continue
        count, size = (*pb.numbers(sample, _SAMPLE_VALUES), 0, 0)[:2]
        frames = tuple(
            places[number] for number in pb.numbers(sample, _SAMPLE_LOCATIONS) if number in places
        )
        found.append(BufferAllocations(frames, count, size))
    return tuple(found)


def by_line(
    buffers: tuple[BufferAllocations, ...], is_user: Callable[[str], bool]
) -> dict[tuple[str, int] | None, tuple[int, int]]:
    """File and line → count and bytes, the most bytes first; None without a user frame.

    A buffer belongs to the innermost user frame.
    """
    sums: dict[tuple[str, int] | None, list[int]] = collections.defaultdict(lambda: [0, 0])
    for each in buffers:
        key = next(((file, line) for file, _, line in each.frames if is_user(file)), None)
        sums[key][0] += each.count
        sums[key][1] += each.bytes
    ordered = sorted(sums.items(), key=lambda item: -item[1][1])
    return {key: (count, size) for key, (count, size) in ordered}
