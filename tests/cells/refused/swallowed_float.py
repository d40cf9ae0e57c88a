# A handler that swallows the error of a traced conversion would take another path in silence.
# expect: refused "trac|Concretization"

# %% setup
import jax.numpy as jnp
x = jnp.arange(3.0)

# %% cell
try:
    total = float(x.sum())
except Exception:
    total = -1.0

# %% after
z = x + 1
