# Only one branch draws.
# silent: key_reuse

# %% setup
import jax, jax.numpy as jnp
key, x = jax.random.key(0), jnp.ones(3)

# %% cell
y = jax.lax.cond(x[0] > 0, jax.random.normal, jax.random.uniform, key)
