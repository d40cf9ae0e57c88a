# What `jax.device_get` gives of a traced array is a JAX array.
# differs: r numpy-becomes-array
# may differ: s* numpy-becomes-array

# %% setup
import jax, jax.numpy as jnp
x = jnp.arange(3.0)

# %% cell
r = jax.device_get(x * 2)
s = {"a": jax.device_get([x, 1])}

# %% change
x = x + 1
