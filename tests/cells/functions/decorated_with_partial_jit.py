# functools.partial(jax.jit, ...) as a decorator.

# %% setup
import jax
import jax.numpy as jnp
import numpy as np
x = jnp.arange(3.0)

# %% cell
import functools

@functools.partial(jax.jit, static_argnums=1, donate_argnums=())
def f(v, n): return v * n

@jax.jit
def g(v): return f(v, 2) + 1

rows = [f(x, 2), f(x, n=3), g(x)]
del f, g

# %% change
x = x + 1
