# An assertion about a shape runs while tracing.
# compiles: 1 0

# %% setup
import jax.numpy as jnp
x = jnp.arange(3.0)

# %% cell
assert x.ndim == 1, "a row"
assert x.shape == (3,)
y = x * 2

# %% change
x = x + 1
