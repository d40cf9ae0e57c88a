# Functions that look at the frame of their caller.

# %% setup
import jax
import jax.numpy as jnp
import numpy as np
x = jnp.arange(3.0)

# %% cell
def f(v): return v * 2

before = "f" in locals(), "f" in globals(), len(dir()) == len(locals())
y = eval("f(x)")
exec("z = f(x)")
class A:
    def __init__(self): self.w = f(x)
class B(A):
    def __init__(self): super().__init__()
w = B().w

# %% change
x = x + 1
