"""Pairs of instructions that XLA's fusion pass left apart, with the reasons that it logged.

The pass goes from the results to the inputs, and asks for each operand of an instruction whether to
fuse it in. It logs each answer: `About to fuse |p| into |c|`, `Fused |p| into |f|`, where f is the
name that c has from now on, and `Not fusing |p| into |c| as …`, again after each change of c.
Written by `xla_dump_fusion_visualization`, seen on jaxlib 0.8.1, 0.10.2 and 0.12.0.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from jaxscope import words
from jaxscope.analysis.hlo import Computation, HloModule, Instruction, executed_times, users
from jaxscope.analysis.links.anchors import APPLYING
from jaxscope.model import Anchor
from jaxscope.model.compiler.remarks import FusionRemark

# [12, "Not fusing |tanh.0| into |multiply_fusion| as Fusion is not profitable. ; multi-output …"]
_STATE = re.compile(r'\[\d+, "((?:[^"\\]|\\.)*)"')
_ABOUT = re.compile(r"About to (?:MOF-)?fuse \|(.+?)\| into \|(.+?)\|")
_FUSED = re.compile(r"Fused \|(.+?)\| into \|(.+?)\|")
_NOT = re.compile(r"Not fusing \|(.+?)\| into \|(.+?)\| as (.*)$")
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
_LIBRARY = "the consumer is a library call"
_OWN_PRODUCER = "`{producer}` has a kernel or library call of its own"
_OWN_CONSUMER = "`{consumer}` has a kernel or library call of its own"

REASONS: dict[str, str] = {
    "expensive producer would be duplicated": (
        "`{producer}` is expensive, and each of its consumers would compute it again"
    ),
    "operand can not be duplicated": (
        "not all consumers of `{producer}` can take it in, and computing it more than once would "
        "read more memory than its result has"
    ),
    "Fusion is not profitable.": (
        "`{producer}` is expensive, and the consumer reads its elements more than once"
    ),
    "Producer is not loop-fusible.": _OWN_PRODUCER,
    "Not fusing: not found a fusible case": _OWN_CONSUMER,
    "Don't fuse instructions from custom fusions/calls": _LIBRARY,
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
    """The last answer of the fusion pass for each pair of names after it."""

    reasons: dict[tuple[str, str], str]


def read_log(pages: Iterable[str]) -> FusionLog:
    """Read the pages of a dump: one per computation."""
    renamed: dict[str, str] = {}
    answers: list[tuple[str, str, str]] = []
    for page in pages:
        consumer = ""
        for state in _STATE.finditer(page):
            text = state[1]
            if about := _ABOUT.match(text):
                consumer = about[2]
            elif fused := _FUSED.match(text):
                if consumer and consumer != fused[2]:
                    renamed[consumer] = fused[2]
                consumer = ""
            elif answer := _NOT.match(text):
                answers.append((answer[1], answer[2], _OF_SEVERAL_OUTPUTS.sub("", answer[3])))

    def last(name: str) -> str:
        seen: set[str] = set()
        while name in renamed and name not in seen:
            seen.add(name)
            name = renamed[name]
        return name

    return FusionLog({(last(p), last(c)): why.strip() for p, c, why in answers})


def fusion_remarks(
    after: HloModule,
    log: FusionLog | None,
    lines: Callable[[Instruction], tuple[int, ...]] = lambda _: (),
) -> tuple[FusionRemark, ...]:
    """All pairs that the pass left apart, those with the most bytes first.

    `after` is the program after the pass; `lines` gives the lines of one of its instructions.
    Without a log, only pairs that cannot be fused because of what they are have a reason.
    """
    found: list[FusionRemark] = []
    readers = users(after.instructions())
    executed = executed_times(after)
    for producer, consumer, hops in _pairs(after):
        times = executed.get(producer.computation)
        reasons = {} if log is None else log.reasons
        given = next((why for hop in hops if (why := reasons.get(hop))), "")
        apart = _apart(producer, consumer)
        found.append(
            FusionRemark(
                producer.name,
                consumer.name,
                reason=_reason(
                    REASONS.get(given, given.rstrip(".")) if log is not None else apart,
                    _opcode(producer, after),
                    _opcode(consumer, after),
                ),
                xla=given,
                fusible=not apart,
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


def _apart(producer: Instruction, consumer: Instruction) -> str:
    """The clause for a pair of which one side is no loop; empty for two loops.

    Each of these forbids the fusion by itself: shouldFuse of cpu_instruction_fusion.cc.
    """
    if _is_library(consumer):
        return _LIBRARY
    if consumer.opcode in _OWN:
        return _OWN_CONSUMER
    return _OWN_PRODUCER if producer.opcode in _OWN or _is_library(producer) else ""


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
