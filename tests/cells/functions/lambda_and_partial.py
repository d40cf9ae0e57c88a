# A lambda bound to a name, partial functions, star arguments.

# %% setup
import jax
import jax.numpy as jnp
import numpy as np
x = jnp.arange(3.0)

# %% cell
from functools import partial
def f(a, *rest, k=1, **more): return a * k + sum(rest) + more.get("z", 0)
g = lambda v: f(v, v, k=3)
h = partial(f, x, k=2)

rows = [g(x), h(x, x), f(*[x, x], **{"k": 4, "z": x})]

# %% change
x = x + 1
