# A helper with an attribute, a default list and a closure changes them: refused, nothing is left.
# expect: refused "in place"

# %% setup
import jax.numpy as jnp
x = jnp.ones(2)
def remember(v, seen=[]):
    seen.append(len(seen))
    return v * len(seen)

# %% cell
y = remember(x)
