# IPython awaits at top level; a traced cell cannot.
# expect: refused "await"
# line: 3

# %% setup
import asyncio
import jax.numpy as jnp
x = jnp.ones(3)

# %% cell
y = x * 2
await asyncio.sleep(0)

# %% after
w = x * 2
