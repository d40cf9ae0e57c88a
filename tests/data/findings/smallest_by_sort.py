# The smallest few.
# fires: full_sort line 2

# %% setup
import jax.numpy as jnp
x = jnp.arange(4096.0)

# %% cell
y = jnp.sort(x)[:4].sum()
