# lax.scan, cond, while_loop and fori_loop over functions of the cell.

# %% setup
import jax
import jax.numpy as jnp
import numpy as np
x = jnp.arange(3.0)

# %% cell
from jax import lax

def step(carry, v): return carry + v, carry * v
def small(c): return c < 10.0
def grow(c): return c * 2 + 1
def body(i, c): return c + i

carry, rows = lax.scan(step, 0.0, x)
grown = lax.while_loop(small, grow, 1.0)
looped = lax.fori_loop(0, 3, body, x)
chosen = lax.cond(True, grow, lambda c: c, 3.0)

# %% change
x = x + 1
