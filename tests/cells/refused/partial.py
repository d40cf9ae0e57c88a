# A functools.partial with a traced argument.
# expect: refused "trac"
# line: 3

# %% setup
import functools
import jax.numpy as jnp
x = jnp.arange(3.0)

# %% cell
y = x * 2
f = functools.partial(jnp.add, y)

# %% after
z = x + 1
