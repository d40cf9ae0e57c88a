"""Everything that jaxscope records, as frozen data: JSON by construction, no JAX, no front end.

Every other layer speaks in these names. A value that could not be had is an `Unavailable` with its
reason, never `""`, `0` or an exception. Seconds and bytes everywhere; only views format.
"""

from jaxscope.model.compiles import Cause, CauseKind, Compile, CompileKind, Persistent, SlowCall
from jaxscope.model.finding import Finding, FindingKind
from jaxscope.model.gradient import (
    Checkpoint,
    DerivativeMode,
    DerivativeModes,
    DerivativeOrder,
    Gradient,
    Jacobian,
    Residual,
    ResidualKind,
)
from jaxscope.model.program import (
    Applied,
    Cost,
    Effect,
    Memory,
    Program,
    Roofline,
    Value,
    ValueKind,
)
from jaxscope.model.record import SCHEMA, Environment, Form, Record
from jaxscope.model.sharding import (
    Collective,
    CollectiveKind,
    CollectiveOrigin,
    DeviceGroups,
    MatmulFlops,
    Mesh,
    ProgramSharding,
    ReshardingReason,
    ShardedValue,
    Sharding,
)
from jaxscope.model.source import Frame, Source, SourceKind, Span
from jaxscope.model.stage import (
    Anchor,
    Equation,
    Link,
    Phase,
    Stage,
    StageKind,
    TextSource,
    Unavailable,
)
from jaxscope.model.timing import Timing, order_interval
from jaxscope.model.vmap import BatchAxis, BatchedEquation, Batching, BatchingResult
from jaxscope.model.wire import SchemaError, from_json, to_json

__all__ = [
    "SCHEMA",
    "Anchor",
    "Applied",
    "BatchAxis",
    "BatchedEquation",
    "Batching",
    "BatchingResult",
    "Cause",
    "CauseKind",
    "Checkpoint",
    "Collective",
    "CollectiveKind",
    "CollectiveOrigin",
    "Compile",
    "CompileKind",
    "Cost",
    "DerivativeMode",
    "DerivativeModes",
    "DerivativeOrder",
    "DeviceGroups",
    "Effect",
    "Environment",
    "Equation",
    "Finding",
    "FindingKind",
    "Form",
    "Frame",
    "Gradient",
    "Jacobian",
    "Link",
    "MatmulFlops",
    "Memory",
    "Mesh",
    "Persistent",
    "Phase",
    "Program",
    "ProgramSharding",
    "Record",
    "ReshardingReason",
    "Residual",
    "ResidualKind",
    "Roofline",
    "SchemaError",
    "ShardedValue",
    "Sharding",
    "SlowCall",
    "Source",
    "SourceKind",
    "Span",
    "Stage",
    "StageKind",
    "TextSource",
    "Timing",
    "Unavailable",
    "Value",
    "ValueKind",
    "from_json",
    "order_interval",
    "to_json",
]
