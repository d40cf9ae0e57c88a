# Functions that return constants, globals, their arguments, and types.

# %% setup
import jax
import jax.numpy as jnp
import numpy as np
x = jnp.arange(3.0)
TABLE = {"a": 1}

# %% cell
def constant(v): return 3.5
def text(v): return "text"
def table(v): return TABLE
def kind(v): return type(TABLE)
def same(v, w): return v

rows = [constant(x), text(x), table(x) is TABLE, kind(x) is dict, same(x, 1) is x, same(TABLE, x) is TABLE]

# %% change
x = x + 1
