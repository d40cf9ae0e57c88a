# A callback for the end of a traced value's life, which comes with the end of the trace.
# expect: refused "weak reference"

# %% setup
import weakref
import jax.numpy as jnp
x = jnp.arange(3.0)
ended = []

# %% cell
y = x * 2
weakref.finalize(y, ended.append, "y")

# %% after
n = len(ended)
