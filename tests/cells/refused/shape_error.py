# Shapes that do not fit: JAX's own error.
# expect: raises TypeError "shape"
# line: 2

# %% setup
import jax.numpy as jnp
a, b = jnp.ones(3), jnp.ones(4)

# %% cell
y = a + b

# %% after
z = a * 2
