# Star arguments of a function and of its calls.

# %% setup
import jax
import jax.numpy as jnp
import numpy as np
x = jnp.arange(3.0)

# %% cell
def f(*parts, **named): return sum(parts) + sum(named.values())

parts, named = (x, x * 2), {"a": x, "b": 1.0}
rows = [f(*parts), f(*parts, **named), f(x, a=2.0), f(*[x] * 3)]

# %% change
x = x + 1
