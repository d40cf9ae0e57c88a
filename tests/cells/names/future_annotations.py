# A `from __future__` import of an earlier cell holds for this one too.
# compiles: 1 0

# %% setup
from __future__ import annotations
import jax.numpy as jnp
x = jnp.arange(3.0)

# %% cell
y: NoSuchName = x * 2

# %% change
x = x + 1
