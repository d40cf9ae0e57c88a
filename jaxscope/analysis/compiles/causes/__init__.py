"""Why a program was compiled: the smallest additive difference to an earlier one, in words."""

from jaxscope.analysis.compiles.causes.explain import NEAREST_OF, Earlier, Explained, explain
from jaxscope.analysis.compiles.causes.first_call import (
    PLACE_IT,
    cut_for_devices,
    eager_op,
    first_call,
    unknown,
)
from jaxscope.analysis.compiles.causes.signature import (
    BARE,
    Argument,
    Body,
    Function,
    Held,
    Holder,
    Leaf,
    Signature,
    Static,
    Structure,
)

__all__ = [
    "BARE",
    "NEAREST_OF",
    "PLACE_IT",
    "Argument",
    "Body",
    "Earlier",
    "Explained",
    "Function",
    "Held",
    "Holder",
    "Leaf",
    "Signature",
    "Static",
    "Structure",
    "cut_for_devices",
    "eager_op",
    "explain",
    "first_call",
    "unknown",
]
