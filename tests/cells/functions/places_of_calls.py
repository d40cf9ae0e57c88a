# Calls in an f-string, an assert, a with item, a default, a decorator, a slice, a walrus.

# %% setup
import jax
import jax.numpy as jnp
import numpy as np
x = jnp.arange(3.0)

# %% cell
import contextlib

def f(v): return v.sum()
def scope(v): return contextlib.nullcontext(v)
def deco(v): return lambda g: g

text = f"{f(x):.1f} {f(x)}"
assert f(x) >= 0, f(x)
with scope(x) as inside, scope(f(x)):
    pass
def later(a=f(x)): return a
@deco(f(x))
def plain(): return 1
if (n := f(x)) > 1:
    part = x[: int(f(x[:2]))]
rows = {k: f(x * k) for k in range(3) if f(x) > -1}
y = later(), plain()

# %% change
x = x + 1
