# A coroutine of an earlier cell is driven by hand in the cell.

# %% setup
import jax.numpy as jnp
x = jnp.ones(2)
async def double(v):
    return v * 2
def drive(coroutine):
    try:
        coroutine.send(None)
    except StopIteration as stop:
        return stop.value

# %% cell
y = drive(double(x))
z = drive(double(y + 1))

# %% change
x = x + 2
