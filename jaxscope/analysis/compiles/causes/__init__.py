"""Causes of a compilation: its smallest additive difference to an earlier one, in words."""

from jaxscope.analysis.compiles.causes.explain import (
    NEAREST_OF,
    EarlierCompile,
    Explained,
    explain,
)
from jaxscope.analysis.compiles.causes.signature import (
    BARE,
    ArgumentLeaf,
    CallSignature,
    CapturedValue,
    ControlFlowBody,
    Holder,
    JittedFunction,
    StaticArgument,
    Structure,
    TracedArgument,
)
from jaxscope.analysis.compiles.causes.text import (
    PLACE_IT,
    TRANSFORMS,
    eager_op,
    first_call,
    sharded_for_devices,
    unknown,
)

__all__ = [
    "BARE",
    "NEAREST_OF",
    "PLACE_IT",
    "TRANSFORMS",
    "ArgumentLeaf",
    "CallSignature",
    "CapturedValue",
    "ControlFlowBody",
    "EarlierCompile",
    "Explained",
    "Holder",
    "JittedFunction",
    "StaticArgument",
    "Structure",
    "TracedArgument",
    "eager_op",
    "explain",
    "first_call",
    "sharded_for_devices",
    "unknown",
]
