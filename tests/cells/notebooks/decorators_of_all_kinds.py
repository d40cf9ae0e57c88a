# Decorators with and without arguments, stacked, keep names and wrapped functions.
# may differ: y* argument-becomes-array

# %% setup
import functools, contextlib
import jax, jax.numpy as jnp
x = jnp.ones(3)
calls = []

# %% cell
def logged(prefix):
    def wrap(f):
        @functools.wraps(f)
        def inner(*args, **kwargs):
            return f(*args, **kwargs)
        inner.prefix = prefix
        return inner
    return wrap


@logged("a")
def helper(v, k=2):
    """Scale."""
    return v * k


def step(v):
    return helper(v) + 1


y = step(x)
prefix, doc, name = helper.prefix, helper.__doc__, helper.__name__

# %% change
x = x * 2
