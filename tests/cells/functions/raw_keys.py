# Keys of the old kind.

# %% setup
import jax
import jax.numpy as jnp
import numpy as np
x = jnp.arange(3.0)
key = jax.random.PRNGKey(7)

# %% cell
def init(key, n):
    a, b = jax.random.split(key)
    return {"w": jax.random.normal(a, (n, 2)), "b": jax.random.uniform(b, (2,))}

params = init(key, 3)
y = x @ params["w"] + params["b"]

# %% change
x = x + 1
