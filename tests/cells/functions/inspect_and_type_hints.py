# inspect.signature and typing.get_type_hints of the cell's functions.

# %% setup
import jax
import jax.numpy as jnp
import numpy as np
x = jnp.arange(3.0)

# %% cell
import inspect, typing

def f(v: jax.Array, n: int = 2) -> jax.Array: return v * n

names = list(inspect.signature(f).parameters)
hints = sorted(typing.get_type_hints(f))
lines = len(inspect.getsource(f).splitlines())
y = f(x)

# %% change
x = x + 1
