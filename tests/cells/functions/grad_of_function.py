# A function of the cell, differentiated in the cell.

# %% setup
import jax
import jax.numpy as jnp
w = jnp.arange(3.0)

# %% cell
def loss(p):
    return (p ** 2).sum()

value, g = jax.value_and_grad(loss)(w)
w = w - 0.1 * g
