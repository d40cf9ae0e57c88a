# A hand-made timer around calls.

# %% setup
import jax
import jax.numpy as jnp
import numpy as np
x = jnp.arange(3.0)

# %% cell
import time

def f(v): return (v @ v).block_until_ready() if hasattr(v, "block_until_ready") else v @ v

began = time.perf_counter()
rows = [f(x) for _ in range(3)]
positive = time.perf_counter() > began
del began

# %% change
x = x + 1
