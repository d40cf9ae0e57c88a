# A dictionary whose keys cannot be sorted.
# compiles: 1 0

# %% setup
import jax.numpy as jnp
d = {"a": jnp.arange(3.0), 1: jnp.ones(3), None: 2}

# %% cell
y = d["a"] + d[1] * d[None]
out = {0: y, "y": y * 2, (1, 2): "tuple"}

# %% change
d[1] = jnp.zeros(3)
