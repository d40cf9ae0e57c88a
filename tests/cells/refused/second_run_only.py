# A cell that works on the first run and is refused on the second, which leaves the first's results.
# expect 2: refused "-s k"

# %% setup
import jax.numpy as jnp
x = jnp.arange(4.0)
k = 2

# %% cell
y = x[:k]
total = y.sum()

# %% change
k = jnp.asarray(3)

# %% after
z = y + total
