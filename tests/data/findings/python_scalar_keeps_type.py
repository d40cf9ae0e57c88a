# A Python number has no type of its own.
# silent: type_promotion

# %% setup
import jax.numpy as jnp
h, w = jnp.ones((128, 128), jnp.bfloat16), jnp.ones((128, 128), jnp.bfloat16)

# %% cell
y = (h * 0.5) @ w
