# Enums, strings, None, dtypes, slices and functions as arguments.

# %% setup
import jax
import jax.numpy as jnp
import numpy as np
x = jnp.arange(3.0)

# %% cell
import enum

class Mode(enum.Enum):
    UP = 1
    DOWN = 2

def f(v, mode, name="sum", dtype=jnp.float32, part=slice(None), act=jnp.tanh):
    v = act(v[part]).astype(dtype)
    v = v if mode is Mode.UP else -v
    return v.sum() if name == "sum" else v

rows = [f(x, Mode.UP), f(x, Mode.DOWN, "all", jnp.int32), f(x, Mode.UP, part=slice(1)), f(x, None, act=abs)]
del Mode

# %% change
x = x + 1
