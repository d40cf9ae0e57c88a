# A cell that fills a name only if it is missing reads the kept value on the second run.
# compiles: 1 1

# %% setup
import jax.numpy as jnp
x = jnp.arange(3.0)

# %% cell
if "base" not in globals():
    base = x * 10
y = base + x

# %% change
x = x + 1
