# A traced value in a thread-local.
# expect: refused "keeps a traced value"

# %% setup
import jax
import jax.numpy as jnp
import numpy as np
x = jnp.arange(3.0)
import threading
local = threading.local()

# %% cell
local.a = x * 2

# %% change
x = x + 1

# %% after
has = hasattr(local, 'a')
