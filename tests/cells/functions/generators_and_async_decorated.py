# Decorated generators, coroutines and functions that replace themselves.

# %% setup
import jax
import jax.numpy as jnp
import numpy as np
x = jnp.arange(3.0)

# %% cell
import functools, asyncio
def counted(f):
    @functools.wraps(f)
    def inner(*a, **k):
        inner.calls += 1
        return f(*a, **k)
    inner.calls = 0
    return inner
@counted
def rows(v):
    for i in range(3):
        yield v * i
@counted
async def later(v):
    return v * 2
@counted
def once(v):
    global once
    once = lambda v: v + 5
    return v
coroutine = later(x)
try:
    coroutine.send(None)
except StopIteration as stop:
    got = stop.value
y = [*rows(x), got, once(x), once(x)]
calls = rows.calls, later.calls
del coroutine, counted, rows, later, once

# %% change
x = x + 1
