"""Help pages of the transforms: options and examples, for `%magic?`."""

from __future__ import annotations

from jaxscope.magics.options import compose, transforms
from jaxscope.magics.options.parser import Parser

_DESCRIPTIONS = {
    "jit": "Compile the cell as one program, run it, show the report.",
    "grad": "Differentiate the cell's last value, run it, show the report.",
    "vmap": "Write the cell for one example, run it for the batch, show the report.",
    "pmap": "Write the cell for one device, run it on several, show the report.",
    "compose": "Run the cell under a composition of transforms, outermost first, show the report.",
}
EXAMPLES = {
    "jit": """
    %%jaxjit                       compile the cell, run it, show the report
    y = (x - x.mean()) / x.std()

    %%jaxjit -s n -d w -o report   n static, w donated, the report bound to a name
    for i in range(n):
        w = w - 0.1 * g

    %%jaxjit                       a cell with a def: the call is compiled, loss stays as it is
    def loss(w, x):
        return ((x @ w) ** 2).mean()
    loss(w, x)

    %jaxjit loss(w, x)             one call; binds nothing
""",
    "grad": """
    %%jaxgrad -w w                 Out is the gradient by w; error and loss are bound as usual
    error = x @ w - y
    loss = (error ** 2).mean()

    %%jaxgrad -w w,b --value       Out is (loss, {'w': ..., 'b': ...})
    ((x @ w + b - y) ** 2).mean()

    %%jaxgrad -w t --order 3       the third derivative by a scalar
    t ** 4 + 2.0 ** s + 3

    %%jaxgrad -w w                 a cell with a def: its call gives the gradient by w
    def loss(w, x):
        return ((x @ w) ** 2).mean()
    gradient = loss(w, x)

    %jaxgrad --mode hessian -w w loss(w, x)      one call; binds nothing
    %jaxgrad --mode jvp -w x --tangents v f(x)   along v
""",
    "vmap": """
    %%jaxvmap -i x=0 -i w=None     x is one example in the cell; all results are batched
    y = jnp.tanh(x @ w)

    %%jaxvmap -i "batch['image']=0" --out-axes 1   paths, and the batch axis of the results
    z = batch['image'].sum()

    %%jaxvmap -i x=0               a cell with a def: its call maps over the rows of xs
    def f(x, w):
        return x @ w
    f(xs, w)

    %jaxvmap -i x=0 f(xs, w)       one call; the names are the parameters
""",
    "pmap": """
    %jaxdevices --cpu 8            first of all: simulate 8 devices on a CPU

    %%jaxpmap -i w=None --axis-name i      x has one slice per device; w is replicated
    g = jax.lax.pmean(x @ w, 'i')

    %%jaxpmap                      a cell with a def: its call maps over the devices
    def f(x):
        return x * 2
    f(xs)

    %jaxpmap --devices 4 f(xs)     one call, on four devices
""",
    "compose": """
    %%jaxcompose jit | vmap -i x=0,y=0 | grad -w w     per-example gradients
    ((x @ w - y) ** 2)

    %%jaxcompose -n 1 -o report pmap --axis-name i | grad -w w --value
    loss = jax.lax.pmean(((x @ w) ** 2).mean(), 'i')

    %jaxcompose jit | vmap -i x=0 | hessian -w x f(x)  one call; binds nothing

Options that all transforms share come first, then the transforms, each with its own options, which
%jaxgrad?, %jaxvmap? and %jaxpmap? list. The whole is compiled by a jit, unless it begins with jit
or pmap.
""",
}


PARSERS: dict[str, Parser] = {}
"""The parser of each transform's magic: the shared options, and its own."""
for _name, _description in _DESCRIPTIONS.items():
    _stack = " TRANSFORM [| TRANSFORM ...]" if _name == "compose" else ""
    PARSERS[_name] = transforms.parser(f"jax{_name}", _description, _stack)
    compose.add_own(PARSERS[_name], _name)
