# A name bound on one branch of a static condition exists afterwards only if that branch ran.
# compiles: 1 1

# %% setup
import jax.numpy as jnp
x = jnp.arange(3.0)
deep = True

# %% cell
if deep:
    hidden = x * 2
    y = hidden + 1
else:
    y = x - 1
y

# %% change
deep = False
del hidden
