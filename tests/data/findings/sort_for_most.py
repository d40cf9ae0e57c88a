# Sorts whose elements are used, or lie in the middle.
# silent: full_sort

# %% setup
import jax.numpy as jnp
x = jnp.arange(4096.0)

# %% cell
a = jnp.sort(x)
b = jnp.median(x)
c = jnp.sort(x)[:2000]
d = jnp.sort(x)[100:110]
