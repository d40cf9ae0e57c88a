# Functions named like the names that IPython gives.

# %% setup
import jax
import jax.numpy as jnp
import numpy as np
x = jnp.arange(3.0)

# %% cell
def display(v): return v * 2
def exit(v): return v + 1
def get_ipython2(v): return v
y = display(exit(get_ipython2(x)))
del display, exit
y
