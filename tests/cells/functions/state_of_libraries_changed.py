# State that Python's libraries or objects in C hold has its new value.

# %% setup
import builtins
import contextvars
import ctypes
import decimal
import functools
import importlib
import sys
import types
import jax
import jax.numpy as jnp
x = jnp.arange(3.0)
settings = types.ModuleType("settings_of_cell")
sys.modules["settings_of_cell"] = settings
settings.rate = 2.0
builtins.rate_of_cell = 2.0
variable = contextvars.ContextVar("variable", default=2.0)
current = variable.get
numbers, error = (ctypes.c_double * 1)(2.0), ValueError(2.0)

@functools.singledispatch
def rate_of(value):
    return 2.0

class Rates(list):
    pass

rates = Rates([1.0])
rates.rate = 2.0

# %% cell
def by_name(v):
    return v * sys.modules["settings_of_cell"].rate

def by_import(v):
    return v * importlib.import_module("settings_of_cell").rate

def by_builtin(v):
    return v * rate_of_cell

def by_variable(v):
    return v * current()

def by_context(v):
    return v * float(decimal.Decimal(1) / decimal.Decimal(3))

def by_setting(v):
    return v * (2.0 if jax.config.jax_traceback_filtering == "off" else 3.0)

def by_ctypes(v):
    return v * numbers[0]

def by_error(v):
    return v * error.args[0]

def by_kind(v):
    return v * rate_of(1)

def by_attribute(v):
    return v * rates.rate

def by_globals(v):
    return v * by_globals.__globals__["offset"]

offset = 2.0
a = [
    by_name(x), by_import(x), by_builtin(x), by_variable(x), by_context(x), by_setting(x),
    by_ctypes(x), by_error(x), by_kind(x), by_attribute(x), by_globals(x),
]
settings.rate = builtins.rate_of_cell = numbers[0] = rates.rate = offset = 5.0
error.args = (5.0,)
variable.set(5.0)
decimal.getcontext().prec = 3
jax.config.update("jax_traceback_filtering", "off")
rate_of.register(int, lambda value: 5.0)
b = [
    by_name(x), by_import(x), by_builtin(x), by_variable(x), by_context(x), by_setting(x),
    by_ctypes(x), by_error(x), by_kind(x), by_attribute(x), by_globals(x),
]
settings.rate = builtins.rate_of_cell = numbers[0] = rates.rate = 2.0
decimal.getcontext().prec = 28
jax.config.update("jax_traceback_filtering", "auto")
