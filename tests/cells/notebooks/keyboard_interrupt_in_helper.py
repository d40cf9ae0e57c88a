# An interrupt in a helper writes nothing.
# expect: raises KeyboardInterrupt

# %% setup
import jax.numpy as jnp
x, y = jnp.ones(2), "old"
def stop(v):
    raise KeyboardInterrupt

# %% cell
y = x * 2
z = stop(y)
