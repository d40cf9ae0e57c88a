# A small mask.
# silent: masked_reduction

# %% setup
import jax.numpy as jnp
x = jnp.linspace(-1.0, 1.0, 4096)

# %% cell
y = jnp.sum(x[:64][jnp.nonzero(x[:64] > 0, size=64, fill_value=0)[0]])
