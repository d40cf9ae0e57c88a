# A traced value appended to an input list that was empty, the usual record of losses.
# expect: refused "in place"
# line: 3

# %% setup
import jax.numpy as jnp
x = jnp.arange(3.0)
losses = []

# %% cell
loss = x.sum()
losses.append(loss)

# %% after
n = len(losses)
