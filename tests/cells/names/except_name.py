# The name of an `except ... as` clause is unbound afterwards.
# compiles: 1 0

# %% setup
import jax.numpy as jnp
x = jnp.arange(3.0)
e = "before"

# %% cell
try:
    y = x * 2
    1 / 0
except ZeroDivisionError as e:
    why = str(e)
else:
    why = None
finally:
    done = True

# %% change
e = "again"
x = x + 1
