# A result takes its type and weak type from this run even if the program is reused.
# may differ: y* float-becomes-array

# %% setup
import jax.numpy as jnp
x = 2.0

# %% cell
y = [x * 3, jnp.ones(2) * x]

# %% change
x = jnp.asarray(2.0, dtype=jnp.float32)
