# A traced value appended to an input list.
# expect: refused "in place"
# line: 3

# %% setup
import jax.numpy as jnp
x = jnp.arange(3.0)
losses = [jnp.zeros(())]

# %% cell
loss = x.sum()
losses.append(loss)

# %% after
total = sum(losses)
