# A helper of another cell that assigns a global binds a result, not a tracer.
# compiles: 1 0

# %% setup
import jax.numpy as jnp
x = jnp.arange(3.0)

def remember(v):
    global last
    last = v * 10
    return v + 1

# %% cell
y = remember(x)

# %% change
x = x + 1

# %% after
z = last + y
