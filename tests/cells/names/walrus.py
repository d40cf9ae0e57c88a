# An assignment expression binds its name in the namespace.
# compiles: 1 1

# %% setup
import jax.numpy as jnp
x = jnp.arange(4.0)

# %% cell
if (n := x.shape[0]) > 2 and (doubled := x * 2) is not None:
    y = doubled + n
y

# %% change
x = jnp.arange(5.0)
