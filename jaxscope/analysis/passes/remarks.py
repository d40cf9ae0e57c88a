"""Pairs of instructions that XLA's fusion pass left apart, with the reasons that it logged.

The pass goes from the results to the inputs, and asks for each operand of an instruction whether to
fuse it in, again after each change of the instruction. The lines of its log, seen on jaxlib 0.8.1,
0.10.2 and 0.12.0.1:

    Considering for fusion: operand 0 of %c = …
    not fusing operand %p = … because …
           created new fusion: %f = …

f is the name that c has from now on. The first line is missing where c is a library call, and where
p alone decides.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from jaxscope import words
from jaxscope.analysis.hlo import Computation, HloModule, Instruction, executed_times, users
from jaxscope.analysis.links.instruction_tags import APPLYING
from jaxscope.model import Anchor
from jaxscope.model.compiler.remarks import FusionRemark

LOGGED = ("instruction_fusion", "cpu_instruction_fusion")
"""The files of XLA whose lines they are."""
_CONSIDERED = re.compile(r"Considering for fusion: operand \d+ of (?:ROOT )?%(\S+) = ")
_FUSED = re.compile(r"created new fusion: (?:ROOT )?%(\S+) = ")
_NOT = re.compile(r"not fusing operand (?:ROOT )?%(\S+) = .* because (.*)$")
_OF_SEVERAL_OUTPUTS = re.compile(r" ; multi-output .*$")
# Those that compute nothing that memory would hold a second time.
_TRIVIAL = frozenset({"parameter", "constant", "tuple", "get-tuple-element", "after-all"})
_PASSING = frozenset({"bitcast"})
# XLA makes no loop of these on CPUs. Outside a fusion they have a kernel or a library call.
_OWN = frozenset({
    "call", "cholesky", "conditional", "convolution", "custom-call", "dot", "fft",
    "reduce-window", "rng", "rng-bit-generator", "scatter", "select-and-scatter", "sort",
    "triangular-solve", "while",
})  # fmt: skip
_OF_LIBRARY = "Don't fuse instructions from custom fusions/calls"
_OF_PRODUCER = "operand can not be duplicated"
_UNNAMED = (_OF_LIBRARY, _OF_PRODUCER)
_LIBRARY = "the consumer is a library call"
_OWN_PRODUCER = "`{producer}` has a kernel or library call of its own"
_OWN_CONSUMER = "`{consumer}` has a kernel or library call of its own"

REASONS: dict[str, str] = {
    "expensive producer would be duplicated": (
        "`{producer}` is expensive, and each of its consumers would compute it again"
    ),
    _OF_PRODUCER: (
        "not all consumers of `{producer}` can take it in, and computing it more than once would "
        "read more memory than its result has"
    ),
    "Fusion is not profitable.": (
        "`{producer}` is expensive, and the consumer reads its elements more than once"
    ),
    "Producer is not loop-fusible.": _OWN_PRODUCER,
    "Not fusing: not found a fusible case": _OWN_CONSUMER,
    _OF_LIBRARY: _LIBRARY,
    "Concatenate fusion is inefficient.": (
        "a concatenation of many operands, or along the last axis, is faster as a copy of its own"
    ),
    "Code duplication too high": (
        "`{producer}` would be repeated too often in the code of the fusion"
    ),
    "Too many reductions inside single fusion.": "the fusion has too many reductions already",
    "Not fusing: producer is itself a fusion node.": "the producer is a fusion that is complete",
    "Bailing because producer can be output-fused into some operand.": (
        "the producer is fused with the product that it adds to"
    ),
}
"""Clauses for the words of XLA's fusion pass for CPUs (cpu_instruction_fusion.cc)."""


@dataclass(frozen=True, slots=True)
class FusionLog:
    """The last answer of the fusion pass for each pair of names after it. The consumer is empty
    where the log does not name it."""

    reasons: dict[tuple[str, str], str]

    def reason(self, producer: str, consumer: str, *, library: bool) -> str:
        """The answer for a pair; empty where there is none. `library`: the consumer is a call."""
        unnamed = self.reasons.get((producer, ""), "")
        if unnamed == _OF_PRODUCER or (library and unnamed):
            return unnamed
        return self.reasons.get((producer, consumer), "")


def read_log(lines: Iterable[str]) -> FusionLog:
    """Read the log of one compilation."""
    renamed: dict[str, str] = {}
    answers: list[tuple[str, str, str]] = []
    consumer = ""
    for line in lines:
        if considered := _CONSIDERED.search(line):
            consumer = considered[1]
        elif fused := _FUSED.search(line):
            if consumer not in ("", fused[1]):
                renamed[consumer] = fused[1]
        elif answer := _NOT.search(line):
            why = _OF_SEVERAL_OUTPUTS.sub("", answer[2])
            answers.append((answer[1], "" if why in _UNNAMED else consumer, why))

    def last(name: str) -> str:
        seen: set[str] = set()
        while name in renamed and name not in seen:
            seen.add(name)
            name = renamed[name]
        return name

    return FusionLog({(last(p), last(c)): why.strip() for p, c, why in answers})


def fusion_remarks(
    after: HloModule,
    log: FusionLog,
    lines: Callable[[Instruction], tuple[int, ...]] = lambda _: (),
) -> tuple[FusionRemark, ...]:
    """All pairs that the pass left apart, those with the most bytes first.

    `after` is the program after the pass; `lines` gives the lines of one of its instructions.
    """
    found: list[FusionRemark] = []
    readers = users(after.instructions())
    executed = executed_times(after)
    for producer, consumer, hops in _pairs(after):
        times = executed.get(producer.computation)
        library = consumer.opcode == "custom-call" or _is_library(consumer)
        given = next((why for hop in hops if (why := log.reason(*hop, library=library))), "")
        found.append(
            FusionRemark(
                producer.name,
                consumer.name,
                reason=_reason(
                    REASONS.get(given, given.rstrip(".")),
                    _opcode(producer, after),
                    _opcode(consumer, after),
                ),
                xla=given,
                fusible=_are_loops(producer, consumer),
                bytes=producer.shape.bytes,
                only_reader=all(len(readers.get(name, ())) == 1 for name, _ in hops),
                times=times.times if times is not None and times.known else None,
                producer_lines=lines(producer),
                consumer_lines=lines(consumer),
            )
        )
    return tuple(sorted(found, key=lambda one: -one.bytes))


def remarks_text(
    remarks: Sequence[FusionRemark], equations: Mapping[str, tuple[int, ...]]
) -> tuple[str, tuple[Anchor, ...]]:
    """The remarks as a text, each linked to the equations of both sides."""
    lines = ["Values that XLA did not fuse into their consumers, the largest first.", ""]
    anchors: list[Anchor] = []
    for one in remarks:
        lines.append(f"{words.size(one.bytes)}  %{one.producer} → %{one.consumer}")
        both = (*equations.get(one.producer, ()), *equations.get(one.consumer, ()))
        if both:
            anchors.append(Anchor(len(lines), tuple(dict.fromkeys(both))))
        lines.append(f"    {one.reason.replace('`', '') or 'XLA gave no reason'}")
    return "\n".join(lines), tuple(anchors)


def _are_loops(producer: Instruction, consumer: Instruction) -> bool:
    """Whether none of both has a kernel or a library call of its own, which forbids a fusion."""
    return not any(one.opcode in _OWN or _is_library(one) for one in (producer, consumer))


def _is_library(instruction: Instruction) -> bool:
    return instruction.opcode == "fusion" and instruction.attribute("kind") == "kCustom"


def _reason(clause: str, producer: str, consumer: str) -> str:
    for name, opcode in (("{producer}", producer), ("{consumer}", consumer)):
        clause = clause.replace(name, opcode)
    return clause


def _opcode(instruction: Instruction, module: HloModule) -> str:
    """Its opcode; of a fusion that of its root, seen through what only passes a value."""
    while instruction.opcode == "fusion" and (called := module.called(instruction)):
        instruction = called[0].root
        while instruction.opcode in _PASSING and (sources := module.operands(instruction)):
            instruction = sources[0]
    return instruction.opcode


def _pairs(
    module: HloModule,
) -> Iterator[tuple[Instruction, Instruction, list[tuple[str, str]]]]:
    """Producer, consumer, and the names that the log may have of what is between them."""
    for computation in _executed(module):
        for consumer in computation.instructions:
            if consumer.opcode in _TRIVIAL | _PASSING:
                continue
            for operand in dict.fromkeys(consumer.operands):
                hops: list[tuple[str, str]] = []
                reader, source = consumer.name, module.instruction(operand)
                while source is not None:
                    hops.append((source.name, reader))
                    if source.opcode not in _PASSING:
                        break
                    reader, source = source.name, module.instruction(source.operands[0])
                if source is not None and source.opcode not in _TRIVIAL:
                    yield source, consumer, hops


def _executed(module: HloModule) -> list[Computation]:
    """Computations whose instructions are run one by one."""
    applied = {
        name
        for instruction in module.instructions()
        if instruction.opcode in APPLYING | {"fusion", "custom-call"}
        for name in instruction.called
    }
    return [one for one in module.computations if one.name not in applied]
