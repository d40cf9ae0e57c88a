"""The golden report: report.json, docs/report.schema.json, links.json with the links of every line,
and payload.json, the report as the viewer reads it. `make golden` writes them.

The texts beside this file are the stages of a small training step as JAX 0.10.2 made them on a
CPU. A line of a stage ends with `⟸ 3 7` where it came from equations 3 and 7, and with `⟸? 3 7`
where these are only candidates. Figures, findings and inputs are written by hand.
"""

import base64
import gzip
import json
from pathlib import Path
from typing import Any

from jaxscope import model as m
from jaxscope.analysis.links import line_links as links
from jaxscope.model.schema import json_schema
from jaxscope.view.bundle.payload import payload

HERE = Path(__file__).parent

CELL = """\
%%jaxjit -d w2
# One training step of a small classifier.
h = jnp.tanh(x @ w1 + b1)
print("hidden", h.shape)
h = standardize(h)
for _ in range(depth):
    h = h + 0.1 * jnp.sin(h)
if depth > 8:
    h = h * gain
logits = h @ w2
loss = cross_entropy(logits, labels)
scale = 2.0 ** depth
loss
"""

OTHER = """\
CLASS_WEIGHTS = jnp.linspace(0.5, 1.5, 10)


def standardize(h, eps=1e-6):
    mean = h.mean(axis=0)
    return (h - mean) / (h.std(axis=0) + eps)


def cross_entropy(logits, labels):
    logp = jax.nn.log_softmax(logits)
    return -jnp.mean(jnp.sum(CLASS_WEIGHTS * labels * logp, axis=-1))
"""

SOURCES = (
    m.Source("cell", "<ipython-input-12-5f1c>", m.SourceKind.CELL, CELL),
    m.Source("In [3]", "<ipython-input-3-a90b>", m.SourceKind.OTHER_CELL, OTHER),
)


def frame(text: str) -> m.Frame:
    """`1:2,11,2,25:standardize` is source, span and function."""
    source, span, function = text.split(":")
    index = int(source)
    place = m.Span(*(int(n) for n in span.split(",")))
    return m.Frame(index, SOURCES[index].file, function, place)


def equations() -> tuple[m.Equation, ...]:
    """What is inside a library's own jaxpr has the frames of the equation around it."""
    found: list[m.Equation] = []
    for row in (HERE / "equations.txt").read_text().splitlines():
        number, primitive, parent, inputs, outputs, places = (c.strip() for c in row.split("|"))
        frames = tuple(frame(place) for place in places.split(" < ") if place)
        if not frames and parent != "-":
            frames = found[int(parent)].frames
        cell = next((f.span for f in frames if f.source == 0), None)
        found.append(
            m.Equation(
                id=int(number),
                primitive=primitive,
                span=cell or (frames[0].span if frames else None),
                frames=frames,
                phase=m.Phase.PRIMAL,
                parent=None if parent == "-" else int(parent),
                inputs=tuple(inputs.split()),
                outputs=tuple(outputs.split()),
            )
        )
    return tuple(found)


def stage(kind: m.StageKind) -> m.Stage:
    lines, anchors = [], []
    for number, row in enumerate((HERE / f"{kind}.txt").read_text().splitlines(), 1):
        line, _, ids = row.partition("  ⟸")
        lines.append(line)
        if ids:
            exact = not ids.startswith("?")
            why = "" if exact else "the instruction carries no tag; matched by primitive and shape"
            found = tuple(int(i) for i in ids.lstrip("?").split())
            anchors.append(m.Anchor(number, found, exact, why))
    return m.Stage(kind, "\n".join(lines), anchors=tuple(anchors))


def samples(median: float, wobbles: str) -> tuple[float, ...]:
    """Seconds a call: the median times 1 + wobble / 1000 for each wobble."""
    return tuple(round(median * (1 + int(w) / 1000), 10) for w in wobbles.split())


WOBBLES = (
    "31 -4 2 0 -7 12 -3 5 -9 1 8 -2 44 -5 3 -1 6 -8 0 9 -6 4 -3 15 2 -4 7 -10 1 0 -2 23 5 -7 3 -1"
    " 11 -5 0 2 -3 6 96 -4 1 -6 8 -2 3 0 -1"
)

TRACED, STATIC = m.ValueKind.TRACED, m.ValueKind.STATIC

INPUTS = (
    m.Value("x", TRACED, "float32[256,64]", 65536, "cpu:0", reason="jax.Array"),
    m.Value("w1", TRACED, "float32[64,128]", 32768, "cpu:0", reason="jax.Array"),
    m.Value("b1", TRACED, "float32[128]", 512, "cpu:0", reason="jax.Array"),
    m.Value("w2", m.ValueKind.DONATED, "float32[128,10]", 5120, "cpu:0", reason="jax.Array, donated by -d w2"),
    m.Value("labels", TRACED, "float32[256,10]", 10240, "cpu:0", reason="np.ndarray, put on the device once"),
    m.Value("depth", STATIC, "2", None, "", reason="int, so static; -t depth traces it"),
    m.Value("standardize", STATIC, "<function standardize>", None, "", reason="function, so static"),
    m.Value("cross_entropy", STATIC, "<function cross_entropy>", None, "", reason="function, so static"),
    m.Value("gain", m.ValueKind.UNUSED, "float32[]", None, "", reason="read at line 9, which did not run"),
)

OUTPUTS = (
    m.Value("h", TRACED, "float32[256,128]", 131072, "cpu:0"),
    m.Value("logits", TRACED, "float32[256,10]", 10240, "cpu:0"),
    m.Value("loss", TRACED, "float32[]", 4, "cpu:0", reason="also the value of the cell, Out[12]"),
    m.Value("scale", STATIC, "4.0", None, "", reason="does not depend on a traced input"),
)

FINDINGS = (
    m.Finding(
        m.FindingKind.TRACE_TIME_SIDE_EFFECT,
        4,
        "`print` runs only while the cell is traced, not when the compiled program runs.",
        'Print values from inside the program with `jax.debug.print("hidden {}", h.shape)`.',
        "1 line was written during the trace, none during the 51 timed runs.",
    ),
    m.Finding(
        m.FindingKind.CAPTURED_CONSTANT,
        11,
        "`CLASS_WEIGHTS` (float32[10], 40 B) is captured as a constant of the program.",
        "Pass it in as an argument if it ever changes: the program keeps the value it saw.",
        "It is constant 0 of the jaxpr, read in `cross_entropy` (In [3], line 11).",
    ),
    m.Finding(
        m.FindingKind.MISSED_DONATION,
        10,
        "The donated `w2` could not be reused: no output has its shape and dtype.",
        "Take `w2` out of `-d`, or return the updated `w2` from the cell.",
        "XLA aliased 0 of the 5120 donated bytes.",
    ),
    m.Finding(
        m.FindingKind.HOST_TRANSFER,
        None,
        "`labels` is a NumPy array: every call from Python copies it to the device.",
        "Put it there once with `labels = jax.device_put(labels)`.",
        "The transfer took 9.6 µs, 2 % of a call.",
    ),
    m.Finding(
        m.FindingKind.UNROLLED_LOOP,
        7,
        "This loop was unrolled: each of its 2 iterations became 3 equations.",
        "Use `jax.lax.fori_loop` when `depth` grows; compile time grows with it.",
        "6 equations share the span of line 7.",
    ),
)

COMPILES = (
    m.Compile(
        "cell",
        m.CompileKind.AOT,
        frame("0:1,0,1,14:<module>"),
        trace_s=0.00873,
        lower_s=0.00512,
        compile_s=0.0612,
        signature=(
            "x: f32[256,64]",
            "w1: f32[64,128]",
            "b1: f32[128]",
            "w2: f32[128,10]",
            "labels: f32[256,10]",
        ),
        causes=(
            m.Cause(
                m.CauseKind.SHAPE,
                "x",
                "f32[128,64]",
                "f32[256,64]",
                "The shape of `x` changed: f32[128,64] → f32[256,64] (axis 0).",
                fix="Pad the batches to one size, or drop the last, smaller one.",
            ),
        ),
        persistent=m.Persistent.NOT_WRITTEN,
    ),
    m.Compile(
        "linspace",
        m.CompileKind.EAGER,
        frame("1:1,16,1,42:<module>"),
        trace_s=0.0011,
        lower_s=0.0014,
        compile_s=0.0089,
        signature=("start: f32[]", "stop: f32[]"),
        causes=(
            m.Cause(
                m.CauseKind.EAGER_OP,
                "",
                "",
                "",
                "The operation `linspace` ran eagerly (outside any jit) for the first time.",
                fix="Make constants with NumPy, or inside the jitted function.",
            ),
        ),
        persistent=m.Persistent.HIT,
    ),
)

PROGRAM = m.Program(
    name="cell",
    transforms=("jit",),
    devices=("cpu:0",),
    inputs=INPUTS,
    outputs=OUTPUTS,
    constants=(m.Value("CLASS_WEIGHTS", m.ValueKind.CONSTANT, "float32[10]", 40, "cpu:0"),),
    equations=equations(),
    stages=tuple(stage(kind) for kind in m.StageKind),
    compiles=(0,),
    timings=(
        m.Timing("first call", "cpu:0", (0.00213,), note="the first run after compiling"),
        m.Timing(
            "call", "cpu:0", samples(412.3e-6, WOBBLES), inner=2, warmup=(0.00047, 0.00042, 0.000413)
        ),
        m.Timing("dispatch", "cpu:0", samples(18.4e-6, WOBBLES[:60]), inner=20),
        m.Timing(
            "transfer", "cpu:0", samples(9.61e-6, "12 -5 0 3 -2 8 -1 4"), note="labels, from NumPy"
        ),
    ),
    cost=m.Cost(5_230_465.0, 101_248.0, 1_495_188.0),
    memory=m.Memory(argument=114_176, output=141_340, temp=131_584, alias=0, peak=387_100),
    roofline=m.Roofline(
        "cpu:0", 91.2e9, 18.6e9, "memory-bound", "3.5 FLOP/B is below the ridge at 4.9 FLOP/B."
    ),
    tag="x",
    python='import jax\n\n\n@jax.jit\ndef cell(x, w1, b1, w2, labels):\n    ...\n',
)

RECORD = m.Record(
    title="In [12]",
    form=m.Form.BLOCK,
    created="2026-11-21T03:40:12Z",
    environment=m.Environment(
        jaxscope="0.1.0",
        jax="0.10.2",
        jaxlib="0.10.2",
        python="3.11.7",
        platform="Linux-6.1 x86_64",
        devices=("cpu:0",),
        x64=False,
        flags=(("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=true"),),
    ),
    sources=SOURCES,
    programs=(PROGRAM,),
    compiles=COMPILES,
    findings=FINDINGS,
    notes=("block form · the cell was compiled as one program",),
    wall_s=0.231,
)


def files() -> dict[Path, str]:
    """The texts by path."""
    return {
        HERE / "report.json": text(m.to_json(RECORD)),
        HERE / "links.json": json.dumps(linked(), separators=(",", ":")) + "\n",
        HERE / "payload.json": text(unpacked()),
        HERE.parents[2] / "docs" / "report.schema.json": text(json_schema(), indent=2),
    }


def text(value: Any, indent: int = 1) -> str:
    return json.dumps(value, indent=indent, ensure_ascii=False) + "\n"


REPORT_ID = "0f6c2d0e-5a51-4b3f-9a57-3c3f6f5f2b11"


def unpacked() -> dict[str, Any]:
    """The payload with its packed part as JSON, less the record, which is that of report.json."""
    made = payload(RECORD, REPORT_ID)
    data = json.loads(gzip.decompress(base64.b64decode(made["data"])))
    assert data.pop("record") == m.to_json(RECORD)
    return {**made, "data": data}


def linked() -> dict[str, Any]:
    """Every line's links by `analysis.links`, which those of the viewer must equal."""
    return {
        "from_source": {
            f"{stage.kind} {source}": {
                line: [list(link.lines), link.exact]
                for line in range(1, len(SOURCES[source].text.splitlines()) + 1)
                if (link := links.stage_lines(PROGRAM, stage, line, source)).lines
            }
            for stage in PROGRAM.stages
            for source in range(len(SOURCES))
        },
        "between": {
            f"{start.kind} {end.kind}": {
                anchor.line: list(links.between(PROGRAM, start, anchor.line, end).lines)
                for anchor in start.anchors
            }
            for start in PROGRAM.stages
            for end in PROGRAM.stages
            if start is not end
        },
    }
