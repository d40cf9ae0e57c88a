# Calls in an f-string, an assert, a with item, a default, a decorator, a slice, a key and a walrus.

# %% setup
import jax
import jax.numpy as jnp
import numpy as np
x = jnp.arange(3.0)

# %% cell
import contextlib
def f(v): return v * 2
def size(v): return v.shape[0]
@contextlib.contextmanager
def scope(v):
    yield v + 1
def tagged(n):
    def decorate(g):
        g.tag = n
        return g
    return decorate
text = f"{float(f(x).sum()):.1f} {size(f(x))!r:>4}"
assert f(x).shape == (3,), f(x)
with scope(f(x)) as inside:
    pass
@tagged(size(x))
def g(v, w=f(x), *, k=size(x)):
    return v + w * k
y = g(x)
table = {size(x): f(x)[: size(x) - 1]}
if (big := f(x)).sum() > 1:
    y = y + big
z = [f(v) for v in x if f(v) > 0]
a, *b = f(x), f(y), f(y)
x2 = x; x2 += f(x)
while size(x2) < 2: break
del scope, tagged

# %% change
x = x + 1
