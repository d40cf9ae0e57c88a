# `await` at the top is refused with the line.
# expect: refused "await"
# line: 3

# %% setup
import asyncio
import jax.numpy as jnp
x = jnp.ones(2)

# %% cell
y = x * 2
z = await asyncio.sleep(0, y)
