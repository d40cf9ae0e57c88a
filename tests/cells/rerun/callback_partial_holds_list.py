# A callback that is a partial of a list appends to the newest list.

# %% setup
import functools
import jax
import jax.numpy as jnp
x = jnp.arange(3.0)

def note(log, total):
    log.append(float(total))

first = log = []

# %% cell
jax.debug.callback(functools.partial(note, log), x.sum())
y = x * 2

# %% change
second = log = []

# %% after
counts = len(first), len(second)
