# A static counter that the program uses compiles a new program with the new value.
# compiles: 1 1

# %% setup
import jax.numpy as jnp
x = jnp.arange(3.0)
step = 1

# %% cell
step += 1
y = x * step
