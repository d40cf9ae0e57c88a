# Functions, classes, modules and partials of static values inside results.
# compiles: 1 0

# %% setup
import functools
import math
import jax.numpy as jnp
x = jnp.arange(3.0)

# %% cell
kit = {"act": jnp.tanh, "cls": dict, "mod": math, "y": x * 2}
add = functools.partial(jnp.add, 3)
y = add(x)

# %% change
x = x + 1

# %% after
z = add(1.0)
