"""bfloat16, tried on request: in the inputs, or in the products alone."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterable, MutableMapping
from typing import Any

import jax
import numpy as np

from jaxscope.bench.variants.isolation import TrialRefused
from jaxscope.bench.variants.precision import has_floats
from jaxscope.bench.variants.programs import Builder
from jaxscope.bench.variants.trial import TrialError, runnable, tried
from jaxscope.capture.run.context import RunOrigin
from jaxscope.model import Record
from jaxscope.model.variants import Change, TrialVerdict, VariantTrial
from jaxscope.results.trials import Trials

PRODUCTS = "BF16_BF16_F32"
"""JAX's name of a product of bfloat16 operands that is summed in float32, as with
`preferred_element_type=float32`; `jax.lax.DotAlgorithmPreset`, since jax 0.4.36."""


def try_bfloat16(
    record: Record,
    origin: RunOrigin | None,
    time_limit: float = 30.0,
    say: Callable[[str], None] = lambda text: None,
) -> Trials:
    """The program with its inputs, and with its products, in bfloat16; the results may differ.

    Raises TrialError where there is nothing to try.
    """
    origin = runnable(record, origin)
    builder = Builder(origin, record.sources, "", time_limit)
    try:
        changes = _changes(builder.space, builder.names())
    except TrialRefused as refused:  # the arguments of the call are gone
        raise TrialError(str(refused)) from None
    found: list[VariantTrial] = []
    for number, change in enumerate(changes, 1):
        say(f"trying: {change.title}")
        one = tried(record, origin, change, time_limit)
        lines = change.lines if one.verdict is not TrialVerdict.NOT_TRIED else ""
        shown = "\n".join([f"+{line}" for line in lines.splitlines()])
        found.append(dataclasses.replace(one, number=number, diff=shown, cell=lines))
    return Trials(found, record.title, "change")


def _changes(namespace: MutableMapping[str, Any], names: Iterable[str]) -> list[Change]:
    """The two changes of a program whose code reads these names."""
    config = f'jax.config.update("jax_default_matmul_precision", "{PRODUCTS}")'
    inputs = "\n".join(_casts(namespace, names))
    return [
        Change("the inputs in bfloat16", cast="bfloat16", lines=inputs),
        Change("products of bfloat16, summed in float32", products=PRODUCTS, lines=config),
    ]


def _casts(namespace: MutableMapping[str, Any], names: Iterable[str]) -> list[str]:
    """The lines that cast what these names hold."""
    found: list[str] = []
    for name in names:
        value = namespace.get(name)
        if not re.fullmatch(r"[^\W_]\w*", name) or not has_floats(value):
            continue
        if isinstance(value, jax.Array | np.ndarray):
            found.append(f"{name} = jax.numpy.asarray({name}, 'bfloat16')")
        else:
            found.append(
                f"{name} = jax.tree.map(lambda a: a.astype('bfloat16') "
                f"if getattr(a, 'dtype', None) == 'float32' else a, {name})"
            )
    return found
