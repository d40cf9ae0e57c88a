# A strong type first, a weak one second.

# %% setup
import jax.numpy as jnp
x = jnp.asarray(2.0, dtype=jnp.float32)

# %% cell
y = x * x

# %% change
x = jnp.asarray(2.0)

# %% after
narrow = jnp.ones(2, jnp.bfloat16) * y
