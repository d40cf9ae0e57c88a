# Arguments of a function that `--decorate` jits are traced, ints too: results are arrays.
# differs: f entry-point-becomes-jitted
# differs: y argument-becomes-array

# %% setup
import jax.numpy as jnp

# %% cell --decorate
def f(n):
    return n * 2

y = f(3)
