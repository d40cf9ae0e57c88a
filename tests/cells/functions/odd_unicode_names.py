# Names beyond ASCII.

# %% setup
import jax
import jax.numpy as jnp
import numpy as np
x = jnp.arange(3.0)

# %% cell
def schätze(α, β=1.0): return α * β

größe = schätze(x)
π = schätze(x, 3.14159)

# %% change
x = x + 1
