# What does not depend on the trace comes back as the Python object that it is.
# compiles: 1 0

# %% setup
import jax.numpy as jnp
x = jnp.arange(6.0).reshape(2, 3)

# %% cell
shape = x.shape
kind = x.dtype
rank = x.ndim
size = x.size
label = f"{shape} {kind}"
half = size / 2
pair = divmod(size, 4)
y = x * 2

# %% change
x = x + 1
