# A nested function with a traced keyword default.
# expect: refused "trac"

# %% setup
import jax.numpy as jnp
x = jnp.arange(3.0)

# %% cell
for i in range(1):
    def f(v, *, w=x * 2):
        return v * w

# %% after
z = x + 1
