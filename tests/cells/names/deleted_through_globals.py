# A name deleted through `globals()` is gone afterwards.

# %% setup
import jax.numpy as jnp
x = jnp.arange(3.0)
spare = 1

# %% cell
y = x * 2
globals().pop("spare", None)

# %% change
spare = 2
