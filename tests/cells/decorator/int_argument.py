# Arguments of a jitted function are traced, ints too: results are arrays.
# differs: f entry-point-becomes-jitted
# differs: y argument-becomes-array
# differs: z argument-becomes-array

# %% setup
import jax.numpy as jnp

# %% cell
def f(n):
    return n * 2

y = f(3)
z = f(1.5)
