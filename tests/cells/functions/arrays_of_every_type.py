# Integers, booleans, bfloat16, complex, empty and zero-dimensional arrays.

# %% setup
import jax
import jax.numpy as jnp
import numpy as np
x = jnp.arange(3.0)

# %% cell
def f(v): return v * 2 if v.dtype != bool else ~v

rows = [f(jnp.arange(3)), f(x > 1), f(x.astype(jnp.bfloat16)), f(x + 1j), f(jnp.zeros((0, 3)))]
rows += [f(jnp.float32(2)), f(x[0]), f(x.astype(jnp.uint8))]

# %% change
x = x + 1
