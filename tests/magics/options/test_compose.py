"""Compositions as they are typed on a `%%jaxcompose` line."""

from __future__ import annotations

import pytest

from jaxscope.capture.options.composition import Composition
from jaxscope.magics.options.compose import read_composition


@pytest.mark.parametrize(
    ("text", "stack", "rest"),
    [
        ("jit | vmap -i x=0 | grad -w w", "jit | vmap -i x=0 | grad -w w", ""),
        ("jit|vmap -i x=0|grad -w w", "jit | vmap -i x=0 | grad -w w", ""),
        ("  vmap -i x=0,y=1   |grad  ", "vmap -i x=0 -i y=1 | grad", ""),
        ("vmap -i p['a']=0,p['b']=None", "vmap -i p['a']=0 -i p['b']=None", ""),
        ("vmap -i \"p['a,b']=0, q=1\"", "vmap -i p['a,b']=0 -i q=1", ""),
        ("hessian -w x f(x | y)", "grad -w x --mode hessian", "f(x | y)"),
        ("vmap | value_and_grad f('a|b', {1 | 2})", "vmap | grad --value", "f('a|b', {1 | 2})"),
        ("grad --mode jacrev --order 2 -- f(-x)", "grad --mode jacrev --order 2", "f(-x)"),
        ("pmap --devices 4 --axis-name i | jit", "pmap --axis-name i --devices 4 | jit", ""),
        ("vmap --out-axes -1 g(x)", "vmap --out-axes -1", "g(x)"),
    ],
)
def test_a_composition_is_read_as_it_is_written(text: str, stack: str, rest: str) -> None:
    segments, left = read_composition(text)
    assert (str(Composition(tuple(segments))), left) == (stack, rest)
    assert read_composition(stack)[0] == segments
