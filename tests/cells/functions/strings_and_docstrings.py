# Docstrings, annotations and names of functions stay.

# %% setup
import jax
import jax.numpy as jnp
import numpy as np
x = jnp.arange(3.0)

# %% cell
def f(v: "array", n: int = 2) -> "array":
    """Scale."""
    return v * n

y = f(x)
texts = f.__doc__, f.__name__, f.__qualname__, f.__annotations__["n"].__name__, f.__defaults__, f.__module__

# %% change
x = x + 1
