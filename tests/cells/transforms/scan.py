# A scan with a carry and stacked outputs.
# compiles: 1 0

# %% setup
import jax
import jax.numpy as jnp
xs = jnp.arange(5.0)
decay = 0.5

# %% cell
carry, ys = jax.lax.scan(lambda c, v: (c * decay + v, c), jnp.zeros(()), xs)

# %% change
decay = 0.25
