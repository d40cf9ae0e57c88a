"""A report with 100 000 lines of optimized HLO, generated without compiling a program."""

from __future__ import annotations

from jaxscope import model as m

_SOURCE_LINES = 300
_PER_FUSION = 18
_SPAN = 12


def large_record(lines: int = 100_000) -> m.Record:
    """A layer-by-layer program: equations by line of a cell, all four stages, fusions with their
    computations, and HLO lines as long as real ones with their metadata."""
    number = lines // 4
    equations = tuple(_equation(index) for index in range(number))
    jaxpr = ["{ lambda ; a:f32[64,64] b:f32[64,64]. let"]
    jaxpr += [f"    x{i}:f32[64,64] = {_name(i)} x{max(i - 1, 0)} b" for i in range(number)]
    stablehlo = ["module @jit_cell {", "  func.func public @main(%arg0: tensor<64x64xf32>) {"]
    stablehlo += [
        f"    %{i} = stablehlo.{_name(i)} %{max(i - 1, 0)}, %arg0 : tensor<64x64xf32>"
        for i in range(number)
    ]
    hlo, origins = _hlo(lines, number)
    return m.Record(
        title="cell",
        form=m.Form.BLOCK,
        created="2026-01-01T00:00:00+00:00",
        environment=m.Environment("0", "0", "0", "3", "Linux", devices=("cpu:0 cpu",), x64=False),
        sources=(m.Source("cell", "<cell>", m.SourceKind.CELL, _source()),),
        programs=(
            m.Program(
                "cell",
                ("jit",),
                ("cpu:0",),
                (),
                (),
                constants=(),
                equations=equations,
                stages=(
                    _stage(m.StageKind.JAXPR, jaxpr, {i + 2: i for i in range(number)}),
                    _stage(m.StageKind.STABLEHLO, stablehlo, {i + 3: i for i in range(number)}),
                    _stage(m.StageKind.HLO, hlo[: lines // 2], origins),
                    _stage(m.StageKind.OPTIMIZED_HLO, hlo, origins),
                ),
            ),
        ),
        compiles=(),
    )


def _name(index: int) -> str:
    return ("add", "multiply", "subtract", "maximum", "divide")[index % 5]


def _source() -> str:
    rows = (f"h{i} = jnp.tanh(h{i - 1} @ w) * 2 + b" for i in range(1, _SOURCE_LINES))
    return "%%jaxjit\n" + "\n".join(rows) + "\n"


def _equation(index: int) -> m.Equation:
    span = m.Span(2 + index % (_SOURCE_LINES - 1), 5, 2 + index % (_SOURCE_LINES - 1), 5 + _SPAN)
    frame = m.Frame(0, "<cell>", "<module>", span)
    shapes = ("f32[64,64]",)
    return m.Equation(
        index,
        _name(index),
        span,
        (frame,),
        m.Phase.PRIMAL,
        parent=None,
        scope="",
        inputs=shapes,
        outputs=shapes,
    )


def _stage(kind: m.StageKind, lines: list[str], origins: dict[int, int]) -> m.Stage:
    anchors = tuple(
        m.Anchor(line, (equation,)) for line, equation in origins.items() if line <= len(lines)
    )
    return m.Stage(kind, "\n".join(lines) + "\n", anchors=anchors)


def _hlo(lines: int, number: int) -> tuple[list[str], dict[int, int]]:
    """Computations of fusions, then the entry that calls them; each line's equation."""
    text = ["HloModule jit_cell, is_scheduled=true, entry_computation_layout={(f32[64,64]{1,0})}"]
    origins: dict[int, int] = {}
    fusions = 0
    while len(text) < lines - fusions - 4:
        text.append("")
        text.append(f"%fused_computation.{fusions} (p.{fusions}: f32[64,64]) -> f32[64,64] {{")
        text.append(f"  %p.{fusions} = f32[64,64]{{1,0}} parameter(0)")
        for i in range(_PER_FUSION):
            equation = len(text) % number
            origins[len(text) + 1] = equation
            text.append(_instruction(fusions, i, equation))
        text.append("}")
        fusions += 1
    text += ["", "ENTRY %main.1 (a.1: f32[64,64]) -> f32[64,64] {"]
    for i in range(lines - len(text) - 1):
        origins[len(text) + 1] = i % number
        text.append(
            f"  %fusion.{i} = f32[64,64]{{1,0}} fusion(%fusion.{max(i - 1, 0)}), kind=kLoop, "
            f"calls=%fused_computation.{i % max(fusions, 1)}, {_metadata(i)}"
        )
    text.append("}")
    return text, origins


def _instruction(fusion: int, step: int, equation: int) -> str:
    before = f"%p.{fusion}" if step == 0 else f"%{_name(step - 1)}.{fusion}.{step - 1}"
    root = "ROOT " if step == _PER_FUSION - 1 else ""
    return (
        f"  {root}%{_name(step)}.{fusion}.{step} = f32[64,64]{{1,0}} {_name(step)}"
        f"({before}, %p.{fusion}), {_metadata(equation)}"
    )


def _metadata(equation: int) -> str:
    return (
        f'metadata={{op_name="jit(cell)/jit(main)/{_name(equation)}" '
        f'source_file="cell.py" source_line={2 + equation % (_SOURCE_LINES - 1)} '
        "source_end_line=12 source_column=5 source_end_column=17}"
    )
