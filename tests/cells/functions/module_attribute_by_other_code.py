# An attribute of the user's module that a library's code, a helper or a submodule's name reads has its new value.

# %% setup
import functools
import inspect
import operator
import types
import jax.numpy as jnp
x = jnp.arange(3.0)
settings = types.ModuleType("settings")
settings.rate = 2.0
settings.inner = types.ModuleType("inner")
settings.inner.rate = 2.0
get = operator.attrgetter("rate")

def make(module):
    def scaled(v):
        return v * module.rate
    return scaled

by_closure = make(settings)

# %% cell
def by_getter(v):
    return v * operator.attrgetter("rate")(settings)

def by_kept_getter(v):
    return v * get(settings)

def by_static(v):
    return v * inspect.getattr_static(settings, "rate")

def by_reduce(v):
    return v * functools.reduce(getattr, ["inner", "rate"], settings)

def by_submodule(v):
    return v * settings.inner.rate

def by_argument(v, module):
    return v * module.rate

def of_closure(v):
    return by_closure(v)

a = [
    by_getter(x), by_kept_getter(x), by_static(x), by_reduce(x), by_submodule(x),
    by_argument(x, settings), of_closure(x),
]
settings.rate = settings.inner.rate = 5.0
b = [
    by_getter(x), by_kept_getter(x), by_static(x), by_reduce(x), by_submodule(x),
    by_argument(x, settings), of_closure(x),
]
settings.rate = settings.inner.rate = 2.0
