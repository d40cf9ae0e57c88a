"""XLA's own `HloModuleProto`, decoded by field number: the truth that the text parser must meet.

Field numbers are those of xla/service/hlo.proto and xla/xla_data.proto; they never change.
"""

from dataclasses import dataclass

Fields = dict[int, list[int | bytes]]


@dataclass(frozen=True)
class ProtoInstruction:
    name: str
    opcode: str
    dims: tuple[int, ...]
    parts: int
    operands: tuple[str, ...]
    called: frozenset[str]
    op_name: str
    frame: int
    source: tuple[str, int]
    fusion_kind: str
    target: str


@dataclass(frozen=True)
class ProtoModule:
    computations: dict[str, tuple[ProtoInstruction, ...]]
    entry: str
    frames: dict[int, tuple[str, str, int, int]]
    """File, function, line and column by frame number."""
    parents: dict[int, int]


def decode(data: bytes) -> Fields:
    fields: Fields = {}
    position = 0
    while position < len(data):
        key, position = _varint(data, position)
        number, wire = key >> 3, key & 7
        if wire == 0:
            value, position = _varint(data, position)
        elif wire == 2:
            length, position = _varint(data, position)
            value, position = data[position : position + length], position + length
        else:
            width = {1: 8, 5: 4}[wire]
            value, position = data[position : position + width], position + width
        fields.setdefault(number, []).append(value)
    return fields


def _varint(data: bytes, position: int) -> tuple[int, int]:
    result = shift = 0
    while True:
        byte = data[position]
        position += 1
        result |= (byte & 0x7F) << shift
        if byte < 0x80:
            return result, position
        shift += 7


def _text(fields: Fields, number: int) -> str:
    return bytes(fields.get(number, [b""])[-1]).decode()


def _number(fields: Fields, number: int) -> int:
    return int(fields.get(number, [0])[-1])


def _messages(fields: Fields, number: int) -> list[Fields]:
    return [decode(value) for value in fields.get(number, []) if isinstance(value, bytes)]


def _numbers(fields: Fields, number: int) -> list[int]:
    found: list[int] = []
    for value in fields.get(number, []):
        if isinstance(value, int):
            found.append(value)
            continue
        position = 0
        while position < len(value):
            item, position = _varint(value, position)
            found.append(item)
    return found


def read_proto(data: bytes) -> ProtoModule:
    module = decode(data)
    computations = _messages(module, 3)
    names = {_number(c, 5): _text(c, 1) for c in computations}
    decoded: dict[str, tuple[ProtoInstruction, ...]] = {}
    for computation in computations:
        rows = _messages(computation, 2)
        local = {_number(row, 35): _text(row, 1) for row in rows}
        decoded[_text(computation, 1)] = tuple(_instruction(row, local, names) for row in rows)
    index = (_messages(module, 17) or [{}])[0]
    files = [bytes(name).decode() for name in index.get(1, [])]
    functions = [bytes(name).decode() for name in index.get(2, [])]
    locations = _messages(index, 3)
    frames: dict[int, tuple[str, str, int, int]] = {}
    parents: dict[int, int] = {}
    for number, frame in enumerate(_messages(index, 4), 1):
        place = locations[_number(frame, 1) - 1]
        frames[number] = (
            files[_number(place, 1) - 1],
            functions[_number(place, 2) - 1],
            _number(place, 3),
            _number(place, 4),
        )
        parents[number] = _number(frame, 2)
    return ProtoModule(decoded, _text(module, 2), frames, parents)


def _instruction(row: Fields, local: dict[int, str], names: dict[int, str]) -> ProtoInstruction:
    shape = (_messages(row, 3) or [{}])[0]
    metadata = (_messages(row, 7) or [{}])[0]
    return ProtoInstruction(
        name=_text(row, 1),
        opcode=_text(row, 2),
        dims=tuple(_numbers(shape, 3)),
        parts=len(shape.get(4, [])),
        operands=tuple(local[number] for number in _numbers(row, 36)),
        called=frozenset(names[number] for number in _numbers(row, 38)),
        op_name=_text(metadata, 2),
        frame=_number(metadata, 15),
        source=(_text(metadata, 3), _number(metadata, 4)),
        fusion_kind=_text(row, 11),
        target=_text(row, 28),
    )
