# An f-string of a traced value kept as a result.
# expect: refused "trac"
# line: 3

# %% setup
import jax.numpy as jnp
x = jnp.arange(3.0)

# %% cell
total = x.sum()
text = f"total {total}"

# %% after
z = x + 1
