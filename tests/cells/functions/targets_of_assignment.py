# Results assigned to subscripts, attributes, slices, starred and chained targets.

# %% setup
import jax
import jax.numpy as jnp
import numpy as np
x = jnp.arange(3.0)

# %% cell
import types

def f(v): return v, v * 2, v * 3

d, o, l = {}, types.SimpleNamespace(), [0, 0, 0]
d["a"], o.b, l[1] = f(x)
l[:2] = f(x)[:2]
head, *rest = f(x)
p = q = f(x)[0]
p += f(x)[1]
n: object = f(x)[2]

# %% change
x = x + 1
