# A part of a traced value's text, which no longer shows that it is a tracer's.
# expect: refused "uses the text of a traced value"
# line: 2

# %% setup
import jax.numpy as jnp
x = jnp.arange(3.0)

# %% cell
start = str(x.sum())[:3]

# %% after
w = x + 1
