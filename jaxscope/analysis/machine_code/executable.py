"""A compiled program of the CPU as JAX serializes it: its thunks and its object files.

Source of the field numbers: xla/pjrt/proto/compile_options.proto, xla/service/cpu/executable.proto
and xla/backends/cpu/runtime/thunk.proto; the same in jaxlib 0.8.1, 0.10.2 and 0.12.0.1.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass

from jaxscope.analysis import protobuf as pb
from jaxscope.model.compiler.machine_code import Thunk

_EXECUTABLE, _CLIENT = 1, 3  # of ExecutableAndOptionsProto
_THUNKS, _OBJECTS = 6, 8  # of CompilationResultProto
_STEPS = 1  # ThunkSequenceProto.thunks
_CONTENTS = 1  # ObjFileProto.contents
_KIND, _INFO, _OP_NAME = 1, 2, 1  # of ThunkProto and its InfoProto
_CALL, _CONDITIONAL, _SORT, _WHILE, _KERNEL, _CUSTOM_CALL = 3, 4, 5, 10, 11, 16
_COMPARATOR, _KERNEL_NAME, _CALL_TARGET = 4, 1, 2
_CONDITION, _BODY = 1, 2  # of WhileThunkProto

# By the kind of a thunk; XLA's xla/backends/cpu/runtime/<kind>_thunk.cc calls it.
_LIBRARIES = {
    "ynn-fusion": "YNNPACK",
    "xnn-fusion": "XNNPACK",
    "onednn-fusion": "oneDNN",
    "dot": "Eigen",
    "convolution": "Eigen",
    "fft": "DUCC",
}
_TARGETS = {"lapack_": "LAPACK", "blas_": "BLAS", "__onednn$": "oneDNN"}


@dataclass(frozen=True, slots=True)
class Executable:
    """The parts of a serialized program that run."""

    thunks: tuple[Thunk, ...]
    """In the order of the plan, those of a loop or branch after it."""
    objects: tuple[bytes, ...]
    """Object files of the kernels."""


def read_executable(serialized: bytes) -> Executable:
    """Read the result of `serialize`; raises ValueError for one of a different form."""
    for message in _envelopes(serialized):
        with contextlib.suppress(pb.WireError, StopIteration, UnicodeDecodeError):
            client = pb.text(message, _CLIENT)
            result = pb.submessage(message, _EXECUTABLE)
            # Bytes of another form may give any name.
            if client in ("cuda", "rocm", "tpu"):
                raise ValueError("only programs of a CPU have thunks that jaxscope can read")
            sequence = pb.submessage(result, _THUNKS)
            if not len(sequence):
                continue
            objects = (pb.submessage(one, _CONTENTS) for one in pb.submessages(result, _OBJECTS))
            return Executable(tuple(_thunks(sequence, 0, "")), tuple(bytes(one) for one in objects))
    raise ValueError("this jaxlib serializes its programs in a form that jaxscope does not know")


def _envelopes(serialized: bytes) -> Iterator[memoryview]:
    """The message behind the metadata of jaxlib 0.9 and newer, which has its length in front; then
    all of it."""
    data = memoryview(serialized)
    length = shift = 0
    for at, byte in enumerate(data[:10]):
        length |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            yield data[at + 1 + length :]
            break
    yield data


def _thunks(sequence: memoryview, depth: int, branch: str) -> Iterator[Thunk]:
    for message in pb.submessages(sequence, _STEPS):
        kind = pb.text(message, _KIND)
        info = pb.submessage(message, _INFO)
        target = pb.text(pb.submessage(message, _CUSTOM_CALL), _CALL_TARGET)
        yield Thunk(
            kind,
            pb.text(info, _OP_NAME),
            kernel=pb.text(pb.submessage(message, _KERNEL), _KERNEL_NAME)
            or pb.text(pb.submessage(message, _SORT), _COMPARATOR),
            target=target,
            library=_library(kind, target),
            depth=depth,
            branch=branch,
        )
        for name, inside in _inside(message):
            yield from _thunks(inside, depth + 1, name)


def _inside(message: memoryview) -> Iterator[tuple[str, memoryview]]:
    yield "", pb.submessage(pb.submessage(message, _CALL), 1)
    loop = pb.submessage(message, _WHILE)
    yield "condition", pb.submessage(loop, _CONDITION)
    yield "body", pb.submessage(loop, _BODY)
    branches = pb.submessages(pb.submessage(message, _CONDITIONAL), 1)
    yield from ((f"branch {number}", branch) for number, branch in enumerate(branches))


def _library(kind: str, target: str) -> str:
    if kind != "custom-call":
        return _LIBRARIES.get(kind, "")
    return next((name for start, name in _TARGETS.items() if target.startswith(start)), "")
