# Calls in generator expressions, consumed by sum, all and join.

# %% setup
import jax
import jax.numpy as jnp
import numpy as np
x = jnp.arange(3.0)

# %% cell
def f(v): return v.sum()

total = sum(f(x * i) for i in range(3))
every = all(f(x + i) >= 0 for i in range(2))
text = ",".join(f"{f(x * i):.0f}" for i in range(3))

# %% change
x = x + 1
