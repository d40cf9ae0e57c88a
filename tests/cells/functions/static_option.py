# `-s` names static arguments.

# %% setup
import jax.numpy as jnp
x = jnp.arange(6.0)

# %% cell -s n
def head(v, n):
    return v[:n] * n

y = head(x, 3)
z = head(x, n=2)

# %% change
x = x + 1
