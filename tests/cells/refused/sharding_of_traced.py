# A traced array has no sharding to read; the result has.
# expect: refused "has no `sharding`: ask the result for it"
# line: 3

# %% setup
import jax.numpy as jnp
x = jnp.arange(3.0)

# %% cell
y = x * 2
s = y.sharding

# %% after
y = x * 2
s = str(y.sharding)
