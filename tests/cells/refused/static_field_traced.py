# A static field of a registered dataclass would keep a tracer.
# expect: refused "would keep an array in a static field of a Named"
# line: 2

# %% setup
import dataclasses
import functools
import jax
import jax.numpy as jnp
x = jnp.arange(3.0)

@functools.partial(jax.tree_util.register_dataclass, data_fields=["a"], meta_fields=["b"])
@dataclasses.dataclass
class Named:
    a: object
    b: object

# %% cell
named = Named(x * 2, x * 3)

# %% after
z = Named(x, 1)
