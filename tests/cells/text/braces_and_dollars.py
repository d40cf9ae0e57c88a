# Braces and dollar signs in the cell are not expanded.
# compiles: 1 0

# %% setup
import jax.numpy as jnp
x = jnp.arange(3.0)
w = "expanded"

# %% cell
template = "{w} and $w and {{w}}"
y = {"w": x * 2}

# %% change
x = x + 1
