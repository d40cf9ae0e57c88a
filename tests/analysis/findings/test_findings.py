"""Findings of hand-built records: figures that a test must not measure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from jaxscope.analysis.cost.program import UNKNOWN_LENGTH
from jaxscope.analysis.findings import (
    RULES,
    Evidence,
    NameFact,
    ObservedSideEffect,
    count_computing,
    findings,
)
from jaxscope.analysis.findings.calls import uncertainty
from jaxscope.analysis.findings.evidence import TracedCode, line_of
from jaxscope.analysis.python.parse import parsed
from jaxscope.model import (
    Batching,
    Compile,
    CompileKind,
    Cost,
    Environment,
    Equation,
    Finding,
    FindingKind,
    Form,
    Frame,
    Phase,
    Program,
    Record,
    Roofline,
    Source,
    SourceKind,
    Span,
    Timing,
    Value,
    ValueKind,
)
from jaxscope.model.source import EDITED_SINCE
from jaxscope.words import count, names, seconds, size
from tests.analysis.findings.wording import assert_reads_well

CPU = "cpu:0"


def equation(
    number: int, line: int, primitive: str = "mul", function: str = "<module>"
) -> Equation:
    span = Span(line, 4, line, 9)
    frame = Frame(0, "<cell>", function, span)
    return Equation(number, primitive, span, (frame,), Phase.PRIMAL, parent=None)


def traced(name: str, aval: str = "float32[8]", size: int = 32, reason: str = "jax.Array") -> Value:
    return Value(name, ValueKind.TRACED, aval, size, CPU, reason=reason)


PROGRAM = Program(
    "cell",
    ("jit",),
    (CPU,),
    (traced("x"),),
    (traced("y"),),
    constants=(),
    equations=(equation(0, 2),),
)


def evidence(
    program: Program | None = PROGRAM,
    text: str = "y = x * 2\n",
    form: Form = Form.BLOCK,
    compiles: tuple[Compile, ...] = (),
    **facts: object,
) -> Evidence:
    source = Source("cell", "<cell>", SourceKind.CELL, "%%jaxjit\n" + text)
    environment = Environment("0", "0.10.2", "0.10.2", "3.11", "Linux", devices=(CPU,), x64=False)
    programs = () if program is None else (program,)
    record = Record("cell", form, "", environment, (source,), programs=programs, compiles=compiles)
    return Evidence(record, **facts)  # type: ignore[arg-type]


def of(kind: FindingKind, made: Evidence) -> list[Finding]:
    found = [finding for finding in findings(made) if finding.kind is kind]
    for finding in found:
        assert_reads_well(finding)
    return found


def timed(*timings: Timing) -> Program:
    cost = Cost(100.0, 0.0, 64.0)
    return replace(PROGRAM, timings=timings, cost=cost)


def call(median: float, rounds: int = 11) -> Timing:
    return Timing("call", CPU, (median,) * rounds)


# A rule that fails


def broken(evidence: Evidence, traced: TracedCode) -> Iterator[Finding]:
    yield from uncertainty(evidence, traced)
    raise ValueError("broken on purpose\nand a second line")


def test_a_rule_that_raises_is_raised() -> None:
    with pytest.raises(ValueError, match="broken on purpose"):
        findings(evidence(), (broken,))


def test_a_rule_that_raises_costs_a_note_and_its_own_findings_only() -> None:
    text = "def f(x):\n    print(x)\n    return x * 2\ny = f(x)\n"
    program = replace(PROGRAM, name="f", equations=(equation(0, 4, function="f"),), exact=False)
    made = evidence(program, text, Form.DECORATOR)
    notes: list[str] = []
    others = tuple(rule for rule in RULES if rule is not uncertainty)
    found = findings(made, (broken, *others), notes.append)
    assert [f.kind for f in found] == [FindingKind.TRACE_TIME_SIDE_EFFECT]
    (note,) = notes
    assert note == (
        "jaxscope: the rule `broken` failed (ValueError: broken on purpose); its findings are "
        "missing."
    )


# Missing facts


def test_a_record_without_facts_has_no_findings() -> None:
    assert findings(evidence()) == ()
    assert findings(evidence(None)) == ()


@pytest.mark.parametrize("text", ["def (", "x = 1\n%timeit x\n", "", "\0"])
@pytest.mark.parametrize("form", list(Form))
def test_text_that_does_not_parse_is_not_an_error(text: str, form: Form) -> None:
    assert findings(evidence(text=text, form=form)) == ()


# Dispatch


def test_a_call_that_is_mostly_dispatch_is_host_bound() -> None:
    (finding,) = of(
        FindingKind.HOST_BOUND,
        evidence(timed(call(10e-6), Timing("dispatch", CPU, (8e-6,)))),
    )
    assert finding.message == (
        "jit(cell) is host-bound: most of a call is dispatch, not computation."
    )
    assert finding.evidence == "Dispatch takes 80 % of the 10 µs per call (11 rounds)."


def test_a_host_bound_program_under_vmap_is_to_map_over_more() -> None:
    bound = timed(call(10e-6), Timing("dispatch", CPU, (8e-6,)))
    inside = replace(bound, vmap=Batching((), ()))
    for program in (replace(bound, transforms=("jit", "vmap")), inside):
        (finding,) = of(FindingKind.HOST_BOUND, evidence(program))
        assert finding.fix.endswith("or map over a larger batch.")
    (finding,) = of(FindingKind.HOST_BOUND, evidence(bound))
    assert finding.fix.endswith("or batch calls with `jax.vmap`.")


def test_an_uncertain_time_is_written_as_in_the_first_line() -> None:
    wild = timed(Timing("call", CPU, (1e-3, 1e-3, 1e-3, 1e-3, 20e-3, 1e-4)))
    (finding,) = of(FindingKind.UNCERTAIN_FIGURE, evidence(wild))
    assert finding.message == "The time per call is uncertain by ± over 100 %."
    few = timed(Timing("call", CPU, (1.0, 2.0)))
    (finding,) = of(FindingKind.UNCERTAIN_FIGURE, evidence(few))
    assert finding.message == "The time per call is uncertain."
    assert finding.evidence == "The 2 rounds are between 1 s and 2 s: too few for an interval."


def test_a_finding_about_a_program_names_it_where_there_are_several() -> None:
    bound = timed(call(10e-6), Timing("dispatch", CPU, (8e-6,)))
    noisy = timed(Timing("call", CPU, (1e-3, 2e-3, 3e-3)))
    made = evidence(bound)
    two = replace(made, record=replace(made.record, programs=(bound, replace(noisy, name="g"))))
    assert of(FindingKind.UNCERTAIN_FIGURE, two)[0].message.startswith(
        "The time per call of jit(g) is uncertain."
    )
    alike = replace(made, record=replace(made.record, programs=(noisy, bound)))
    # As of two lambdas with the same arguments.
    assert of(FindingKind.HOST_BOUND, alike)[0].message.startswith(
        "jit(cell) is host-bound for one of 2 programs of that name: most of a call"
    )
    taken = replace(bound, inputs=(Value("x", ValueKind.TRACED, "float32[8]", 32),))
    shaped = replace(made, record=replace(made.record, programs=(noisy, taken)))
    assert of(FindingKind.HOST_BOUND, shaped)[0].message.startswith(
        "jit(cell) is host-bound for one signature: most of a call"
    )
    assert of(FindingKind.UNCERTAIN_FIGURE, shaped)[0].message.endswith(" for one signature.")


def test_a_verdict_of_the_roofline_decides_about_dispatch() -> None:
    program = timed(call(10e-6), Timing("dispatch", CPU, (8e-6,)))
    bound = Roofline(CPU, 1e11, 1e10, "host-bound", "80 % of the call.")
    large = replace(program, cost=Cost(1e9, 0.0, 1e9), roofline=bound)
    assert len(of(FindingKind.HOST_BOUND, evidence(large))) == 1
    other = replace(program, roofline=replace(bound, verdict="far below both roofs"))
    assert of(FindingKind.HOST_BOUND, evidence(other)) == []


@pytest.mark.parametrize(
    ("median", "dispatch", "cost"),
    [
        (10e-6, 4e-6, Cost(100.0, 0.0, 64.0)),  # under half
        (9e-3, 8.9e-3, Cost(100.0, 0.0, 64.0)),  # computed before it returned
        (10e-6, 8e-6, Cost(100.0, 0.0, 64e3)),  # the bytes may take the time
        (10e-6, 8e-6, Cost(100.0, 0.0, 64.0, ("a loop of unknown length",))),
    ],
)
def test_a_call_that_may_compute_is_not_called_host_bound(
    median: float, dispatch: float, cost: Cost
) -> None:
    program = replace(timed(call(median), Timing("dispatch", CPU, (dispatch,))), cost=cost)
    assert of(FindingKind.HOST_BOUND, evidence(program)) == []


# Transfers


def numpy_program(size: int, transfer: float | None, device: str = CPU) -> Program:
    value = traced("x", f"float32[{size // 4}]", size, "NumPy array of float32")
    timings = (call(1e-3),)
    if transfer is not None:
        timings += (Timing("transfer", device, (transfer,)),)
    return replace(PROGRAM, inputs=(value,), timings=timings, devices=(device,))


def test_a_transfer_that_takes_a_share_of_the_call_is_reported() -> None:
    (finding,) = of(FindingKind.HOST_TRANSFER, evidence(numpy_program(4_000_000, 5e-4)))
    assert finding.line == 2
    assert finding.message == "`x` is a NumPy array, copied to the device on every call."
    assert finding.fix == "Copy once, before the call: `x = jnp.asarray(x)`."
    assert finding.evidence == "1 input of 4 MB; the transfer takes 500 µs, a call 1 ms."


def test_an_untimed_large_transfer_to_an_accelerator_is_reported() -> None:
    program = numpy_program(4_000_000, None, "gpu:0")
    assert len(of(FindingKind.HOST_TRANSFER, evidence(program))) == 1


@pytest.mark.parametrize(
    "program",
    [
        numpy_program(4_000_000, 5e-5),  # 5 % of the call
        numpy_program(4_000, 5e-4),  # a few numbers
        numpy_program(4_000_000, None),  # on the CPU, not timed
        replace(numpy_program(4_000_000, 5e-4), inputs=(traced("x", size=4_000_000),)),
    ],
)
def test_small_quick_or_absent_transfers_are_not_reported(program: Program) -> None:
    assert of(FindingKind.HOST_TRANSFER, evidence(program)) == []


# Tracing


def test_a_slow_trace_of_a_block_is_reported_with_its_line() -> None:
    program = replace(PROGRAM, equations=tuple(equation(i, 3 if i else 2) for i in range(500)))
    (finding,) = of(FindingKind.SLOW_TRACING, evidence(program, trace_s=2.5))
    assert finding.line == 3
    assert finding.evidence == "JAX traced 500 equations in 2.5 s; line 3 made 499 of them."


def test_a_slow_trace_is_of_the_line_of_the_cell_and_not_of_a_function_that_it_calls() -> None:
    helper = equation(0, 9, function="helper").frames
    made = [equation(i, 3 if i < 260 else 4) for i in range(500)]
    equations = tuple(replace(one, frames=(*helper, *one.frames)) for one in made)
    (finding,) = of(
        FindingKind.SLOW_TRACING, evidence(replace(PROGRAM, equations=equations), trace_s=2.5)
    )
    assert finding.line == 3


def test_a_slow_trace_of_few_equations_is_not_blamed_on_their_lines() -> None:
    (finding,) = of(FindingKind.SLOW_TRACING, evidence(trace_s=2.5))
    assert finding.line is None
    assert finding.evidence == (
        "JAX traced only 1 equation, so most of the time is in other Python code."
    )
    assert len(of(FindingKind.SLOW_TRACING, evidence(None, trace_s=61.0))) == 1


def test_a_quick_trace_or_one_that_is_paid_once_is_not_reported() -> None:
    assert of(FindingKind.SLOW_TRACING, evidence(trace_s=0.9)) == []
    assert of(FindingKind.SLOW_TRACING, evidence(form=Form.DECORATOR, trace_s=2.5)) == []
    assert of(FindingKind.SLOW_TRACING, evidence(trace_s=None)) == []


# Loops, where compiling is slow


def compiled(seconds: float, kind: CompileKind = CompileKind.JIT, line: int = 0) -> Compile:
    site = Frame(0, "<cell>", "<module>", Span(line, 0, line, 1)) if line else None
    return Compile("cell", kind, site, trace_s=0.0, lower_s=0.0, compile_s=seconds)


LOOP = "for k in range(n):\n    y = y * 2\n"


def loop_program(iterations: int) -> Program:
    equations = tuple(equation(i, 3) for i in range(iterations))
    return replace(PROGRAM, equations=equations)


def test_a_loop_of_few_iterations_is_reported_when_its_compile_is_slow() -> None:
    (finding,) = of(
        FindingKind.UNROLLED_LOOP,
        evidence(replace(loop_program(15), compiles=(0,)), LOOP, compiles=(compiled(360.0),)),
    )
    assert finding.line == 2
    assert "15 copies" in finding.message
    (large,) = of(FindingKind.UNROLLED_LOOP, evidence(loop_program(11_770), LOOP))
    assert "11 770 of the 11 770 equations" in large.evidence
    assert "took 360 s" in finding.evidence


@pytest.mark.parametrize(("iterations", "seconds"), [(15, 2.0), (3, 360.0), (40, 0.1)])
def test_few_iterations_or_few_equations_are_not_reported(iterations: int, seconds: float) -> None:
    program = replace(loop_program(iterations), compiles=(0,))
    made = evidence(program, LOOP, compiles=(compiled(seconds),))
    assert of(FindingKind.UNROLLED_LOOP, made) == []


def test_a_literal_range_limits_the_copies() -> None:
    text = LOOP.replace("range(n)", "range(3)")
    assert of(FindingKind.UNROLLED_LOOP, evidence(loop_program(90), text)) == []
    assert len(of(FindingKind.UNROLLED_LOOP, evidence(loop_program(90), LOOP))) == 1


def in_loop(copies: int, phase: Phase, caller: int = 9) -> list[Equation]:
    """The equations of a body that a call on line `caller` runs."""
    outer = Frame(0, "<cell>", "<module>", Span(caller, 0, caller, 4))
    made = [equation(i, 3) for i in range(copies)]
    return [replace(one, frames=(*one.frames, outer), phase=phase) for one in made]


@pytest.mark.parametrize(
    ("body", "into"),
    [
        (in_loop(70, Phase.PRIMAL), " into 70 copies of its body"),
        (in_loop(40, Phase.PRIMAL) + in_loop(30, Phase.PRIMAL, 10), " into 70 copies of its body"),
        (in_loop(40, Phase.FORWARD) + in_loop(40, Phase.BACKWARD), " into 40 copies of its body"),
        (in_loop(40, Phase.FORWARD) + in_loop(39, Phase.BACKWARD), ""),
        (in_loop(70, Phase.FORWARD), ""),  # a JVP, whose tangents may be of the same primitive
    ],
)
def test_copies_are_given_where_all_places_agree(body: list[Equation], into: str) -> None:
    program = replace(PROGRAM, equations=tuple(body))
    (finding,) = of(FindingKind.UNROLLED_LOOP, evidence(program, LOOP))
    assert finding.message.startswith(f"This Python loop was unrolled{into}, so compile")


def test_a_progress_bar_around_an_unrolled_loop_is_reported() -> None:
    text = "from tqdm import tqdm\nfor k in tqdm(range(n)):\n    y = y * 2\n"
    program = replace(PROGRAM, equations=tuple(equation(i, 4) for i in range(3)))
    (finding,) = of(FindingKind.TRACE_TIME_SIDE_EFFECT, evidence(program, text))
    assert finding.line == 3
    assert of(FindingKind.TRACE_TIME_SIDE_EFFECT, evidence(PROGRAM, text)) == []


# Eager operations


EAGER = "def f(x):\n    return x\nfor k in range(9):\n    y = g(k)\nz = g(9)\n"


def test_few_compiles_or_compiles_outside_a_loop_are_not_reported() -> None:
    for number, line in ((7, 5), (20, 6)):
        made = tuple(compiled(0.02, CompileKind.EAGER, line) for _ in range(number))
        found = evidence(text=EAGER, form=Form.DECORATOR, compiles=made)
        assert of(FindingKind.EAGER, found) == []


def test_compiles_of_one_line_of_a_loop_are_counted() -> None:
    many = tuple(compiled(0.02, CompileKind.EAGER, 5) for _ in range(20))
    (finding,) = of(FindingKind.EAGER, evidence(text=EAGER, form=Form.DECORATOR, compiles=many))
    assert finding.evidence == "Line 5 compiled 20 operations in 400 ms."


# Constants


def with_constant(aval: str, size: int | None) -> Program:
    return replace(PROGRAM, constants=(Value("constant 0", ValueKind.CONSTANT, aval, size),))


def test_a_constant_is_named_after_the_one_variable_that_is_like_it() -> None:
    program = with_constant("float32[200,200]", 160_000)
    facts = (NameFact("x", "jax.Array", "float32[200,200]"), NameFact("k", "list"))
    (finding,) = of(FindingKind.CAPTURED_CONSTANT, evidence(program, names=facts))
    assert finding.line == 2
    assert finding.message == (
        "`x` (float32[200,200], 160 kB) is captured as a constant: a new value needs a new "
        "compilation."
    )
    (unnamed,) = of(FindingKind.CAPTURED_CONSTANT, evidence(program))
    assert unnamed.line is None


@pytest.mark.parametrize(
    ("text", "fix"),
    [
        ("y = x * jnp.asarray(df)\n", "earlier cell: `df = jnp.asarray(df.to_numpy())`."),
        ("y = x * jnp.asarray(df.to_numpy())\n", "cell: `df = jnp.asarray(df.to_numpy())`."),
        (
            "y = df.shape[0] * x * df['a'].values\n",
            "earlier cell, `values = jnp.asarray(df['a'].values)`, and use `values`.",
        ),
    ],
)
def test_of_a_data_frame_the_part_that_the_code_takes_is_converted(text: str, fix: str) -> None:
    facts = (NameFact("df", "pandas.DataFrame", foreign=True),)
    (finding,) = of(FindingKind.NON_JAX_CONSTANT, evidence(text=text, names=facts))
    assert finding.fix.endswith(fix)


def test_a_constant_with_a_name_is_not_matched_by_its_type() -> None:
    facts = (NameFact("x", "jax.Array", "float32[200,200]"),)
    values = (
        Value("x", ValueKind.CONSTANT, "float32[200,200]", 160_000),
        Value("constant 1", ValueKind.CONSTANT, "float32[200,200]", 160_000),
    )
    found = of(
        FindingKind.CAPTURED_CONSTANT, evidence(replace(PROGRAM, constants=values), names=facts)
    )
    assert [(one.message.partition(" (")[0], one.line) for one in found] == [
        ("`x`", 2),
        ("An array", None),
    ]


def test_arrays_of_one_variable_are_one_finding() -> None:
    values = tuple(
        Value(name, ValueKind.CONSTANT, "float32[200,200]", 160_000)
        for name in ("params['w']", "params['v']", "constant 2", "constant 3")
    )
    named, unnamed = of(FindingKind.CAPTURED_CONSTANT, evidence(replace(PROGRAM, constants=values)))
    assert named.message == (
        "2 arrays of 320 kB together in `params` are captured as constants: new values need a new "
        "compilation."
    )
    assert named.fix == "Pass `params` as an argument to the function that uses it."
    assert unnamed.message.startswith("2 arrays of 320 kB together are captured")


def test_a_constant_without_byte_count_is_sized_by_its_type() -> None:
    assert (
        len(of(FindingKind.CAPTURED_CONSTANT, evidence(with_constant("bool[300,300]", None)))) == 1
    )
    assert of(FindingKind.CAPTURED_CONSTANT, evidence(with_constant("bool[200,200]", None))) == []
    assert of(FindingKind.CAPTURED_CONSTANT, evidence(with_constant("key<fry>[9]", None))) == []


def test_many_small_constants_count_together() -> None:
    value = Value("constant", ValueKind.CONSTANT, "float32[1000]", 4000)
    (finding,) = of(
        FindingKind.CAPTURED_CONSTANT, evidence(replace(PROGRAM, constants=(value,) * 20))
    )
    assert finding.message.startswith("20 arrays of 80 kB together")


def test_a_slow_compile_is_evidence_against_a_constant() -> None:
    program = replace(with_constant("float32[1000,1000]", 4_000_000), compiles=(0,))
    (finding,) = of(FindingKind.CAPTURED_CONSTANT, evidence(program, compiles=(compiled(202.0),)))
    assert finding.evidence.endswith(" XLA compiled for 202 s.")


HLO = """HloModule m, entry_computation_layout={(f32[3]{0})->f32[3]{0}}

ENTRY %main (p: f32[3]) -> f32[3] {
  %p = f32[3]{0} parameter(0)
  %c = f32[] constant(2)
  %b = f32[3]{0} broadcast(%c), dimensions={}
  ROOT %r = f32[3]{0} OPERATION
}
"""


def test_instructions_that_compute_are_counted() -> None:
    assert count_computing(HLO.replace("OPERATION", "multiply(%p, %b)")) == 1
    assert count_computing(HLO.replace("OPERATION", "copy(%b)")) == 0
    assert count_computing("no HLO at all") is None


# Recorded side effects


def test_a_print_under_a_condition_must_have_been_recorded() -> None:
    text = "def f(x):\n    if x.ndim:\n        print(x.ndim)\n    return x * 2\ny = f(x)\n"
    program = replace(PROGRAM, name="f", equations=(equation(0, 5, function="f"),))
    seen = (ObservedSideEffect(4, "1"),)
    unknown = evidence(program, text, Form.DECORATOR)
    assert of(FindingKind.TRACE_TIME_SIDE_EFFECT, unknown) == []
    known = evidence(program, text, Form.DECORATOR, printed=seen)
    assert [f.line for f in of(FindingKind.TRACE_TIME_SIDE_EFFECT, known)] == [4]


def test_an_unconditional_print_is_reported_without_a_record_unless_nothing_was_printed() -> None:
    text = "def f(x):\n    print(x)\n    return x * 2\ny = f(x)\n"
    program = replace(PROGRAM, name="f", equations=(equation(0, 4, function="f"),))
    unknown = evidence(program, text, Form.DECORATOR)
    assert [f.line for f in of(FindingKind.TRACE_TIME_SIDE_EFFECT, unknown)] == [3]
    silent = evidence(program, text, Form.DECORATOR, printed=())
    assert of(FindingKind.TRACE_TIME_SIDE_EFFECT, silent) == []


def test_a_print_that_is_not_pythons_is_left_alone() -> None:
    text = "from jax.debug import print\ndef f(x):\n    print('{}', x)\n    return x\ny = f(x)\n"
    program = replace(PROGRAM, name="f", equations=(equation(0, 5, function="f"),))
    assert of(FindingKind.TRACE_TIME_SIDE_EFFECT, evidence(program, text, Form.DECORATOR)) == []


# Uncertainty


def test_caveats_about_the_report_are_findings() -> None:
    untagged = replace(PROGRAM, exact=False, inexact_why="the program came compiled")
    (finding,) = of(FindingKind.APPROXIMATE_SOURCE_MAPPING, evidence(untagged))
    assert finding.evidence == "The program came compiled."
    assert finding.fix.startswith("Inspect the function before its first call")
    (finding,) = of(
        FindingKind.APPROXIMATE_SOURCE_MAPPING, evidence(replace(untagged, equations=()))
    )
    assert finding.fix == "Pass the function and its arguments instead."
    made = evidence(untagged)
    notes = (f"{EDITED_SINCE}`model.py` as it is now.",)  # the note has another fix
    edited = replace(made, record=replace(made.record, notes=notes))
    assert of(FindingKind.APPROXIMATE_SOURCE_MAPPING, edited) == []
    noisy = replace(PROGRAM, timings=(Timing("call", CPU, (1e-3, 2e-3) * 6),))
    (finding,) = of(FindingKind.UNCERTAIN_FIGURE, evidence(noisy))
    assert "between 1 ms and 2 ms" in finding.evidence
    guessed = replace(PROGRAM, cost=Cost(1.0, 0.0, 1.0, ("a loop of unknown length.",)))
    (finding,) = of(FindingKind.UNCERTAIN_FIGURE, evidence(guessed))
    assert finding.evidence == "From the count: a loop of unknown length."


@pytest.mark.parametrize(
    ("remark", "partial", "fix"),
    [
        (
            f"while.0 {UNKNOWN_LENGTH}; its body is counted once.",
            False,
            "Use them as an estimate: only loops with a known trip count are counted exactly.",
        ),
        ("call.1 calls eigh: FLOPs estimated as 10 n³.", False, "Use them as an estimate."),
        ("call.1 calls print; it is not counted.", True, "Compare times instead."),
    ],
)
def test_the_reason_for_uncertain_figures_is_that_of_the_count(
    remark: str, partial: bool, fix: str
) -> None:
    program = replace(PROGRAM, cost=Cost(1.0, 0.0, 1.0, (remark,), partial=partial))
    (finding,) = of(FindingKind.UNCERTAIN_FIGURE, evidence(program))
    assert finding.fix == fix


def test_certain_figures_have_no_caveat() -> None:
    for program in (PROGRAM, timed(call(1e-3)), timed(call(1e-3, rounds=1))):
        made = findings(evidence(program))
        assert [f for f in made if f.kind is FindingKind.UNCERTAIN_FIGURE] == []
        assert [f for f in made if f.kind is FindingKind.APPROXIMATE_SOURCE_MAPPING] == []


# Order and words


def test_findings_come_in_the_order_of_the_kinds() -> None:
    def every(evidence: Evidence, traced: TracedCode) -> Iterator[Finding]:
        for kind in reversed(FindingKind):
            for line in (7, None, 2):
                yield Finding(kind, line, "m", "f", "e")

    found = findings(evidence(), (every, every))
    assert [(f.kind, f.line) for f in found] == [
        (kind, line) for kind in FindingKind for line in (2, 7, None)
    ]


def test_wrong_results_come_before_slow_ones() -> None:
    text = "def f(x):\n    print(x)\n    return x * 2\ny = f(x)\n"
    program = replace(
        with_constant("float32[200,200]", 160_000),
        name="f",
        equations=(equation(0, 4, function="f"),),
        exact=False,
    )
    kinds = [f.kind for f in findings(evidence(program, text, Form.DECORATOR))]
    assert kinds == [
        FindingKind.TRACE_TIME_SIDE_EFFECT,
        FindingKind.CAPTURED_CONSTANT,
        FindingKind.APPROXIMATE_SOURCE_MAPPING,
    ]


def test_figures_and_lists_read_well() -> None:
    assert [size(n) for n in (12, 64_000, 4e6, 2.5e9)] == ["12 B", "64 kB", "4 MB", "2.5 GB"]
    assert [seconds(n) for n in (2.0, 3e-3, 4e-6, 5e-9)] == ["2 s", "3 ms", "4 µs", "5 ns"]
    assert count(1, "array") == "1 array"
    assert names(["a"]) == "`a`"
    assert names(["a", "b"]) == "`a` and `b`"
    assert names(["a", "b", "c", "d", "e"]) == "`a`, `b`, `c` and 2 more"


@pytest.mark.parametrize("kind", [SourceKind.OTHER_CELL, SourceKind.CELL])
def test_a_cell_with_line_magics_is_read_all_the_same(kind: SourceKind) -> None:
    typed = "def f(x):\n    return x\n\ny = %time f(1)\n%jaxprof -o r f(2);\n"
    tree = parsed(Source("In [3]", "7.py", kind, typed))
    assert tree is not None
    assert [line_of(statement) for statement in tree.body] == [1, 4, 5]
    assert parsed(Source("7.py", "7.py", SourceKind.MODULE, typed)) is None


@pytest.mark.parametrize(
    ("primitives", "fires"),
    [
        (("broadcast_in_dim", "reshape"), False),
        (("custom_vmap_call", "ffi_call", "iota"), False),
        (("iota", "sin"), True),
    ],
)
def test_a_program_of_data_movement_and_calls_alone_is_not_folded(
    primitives: tuple[str, ...], fires: bool
) -> None:
    equations = tuple(equation(n, 2, name) for n, name in enumerate(primitives))
    made = evidence(replace(PROGRAM, inputs=(), equations=equations), computing=(0,))
    found = of(FindingKind.CONSTANT_FOLDED, made)
    assert [finding.line for finding in found] == ([2] if fires else [])
