# A function that returns a jitted function, called at once.

# %% setup
import jax
import jax.numpy as jnp
import numpy as np
x = jnp.arange(3.0)

# %% cell
def build(n):
    @jax.jit
    def inner(v): return v * n
    return inner

rows = [build(2)(x), build(3)(x)]
inner = build(4)
y = inner(x)
del inner

# %% change
x = x + 1
