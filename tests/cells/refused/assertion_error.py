# An assertion that fails.
# expect: raises AssertionError "a matrix"
# line: 3

# %% setup
import jax.numpy as jnp
x = jnp.ones(3)

# %% cell
y = x * 2
assert y.ndim == 2, "a matrix"

# %% after
z = x * 2
