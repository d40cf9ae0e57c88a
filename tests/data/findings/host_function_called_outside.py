# A host function that is called outside the program is not a callback.
# silent: callback

# %% setup
import jax, numpy as np, jax.numpy as jnp
x = jnp.arange(3.0)

# %% cell
def host(v):
    return float(np.asarray(v).sum())

def f(x):
    return x * 2

total = np.asarray(f(x)).sum()
