# A lambda with a traced default.
# expect: refused "trac"
# line: 2

# %% setup
import jax.numpy as jnp
x = jnp.arange(3.0)

# %% cell
f = lambda v, w=x * 2: v * w

# %% after
z = x + 1
