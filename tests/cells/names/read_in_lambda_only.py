# An input read only inside a lambda is traced like any other.
# compiles: 1 0

# %% setup
import jax.numpy as jnp
x = jnp.arange(3.0)
scale = 2.0

# %% cell
y = (lambda v: v * scale)(x)

# %% change
scale = 3.0
