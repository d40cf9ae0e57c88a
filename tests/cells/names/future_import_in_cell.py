# A cell may begin with a `from __future__` import of its own.
# compiles: 1 0

# %% setup
import jax.numpy as jnp
x = jnp.arange(3.0)

# %% cell
from __future__ import annotations
y: NoSuchName = x * 2

# %% change
x = x + 1
