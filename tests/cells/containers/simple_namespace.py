# A SimpleNamespace is read as it is at the time of the run.

# %% setup
from types import SimpleNamespace
import jax.numpy as jnp
hp = SimpleNamespace(lr=0.1, w=jnp.arange(3.0), nested=SimpleNamespace(k=2))

# %% cell
y = hp.w * hp.nested.k - hp.lr

# %% change
hp.lr = 0.5
hp.nested.k = 3
