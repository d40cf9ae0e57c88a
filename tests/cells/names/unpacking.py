# Unpacking with nesting and stars binds arrays and lists as plain Python does.
# compiles: 1 0

# %% setup
import jax.numpy as jnp
x = jnp.arange(3.0)

# %% cell
(a, b), *rest, last = [(x, x + 1), x * 2, x * 3, "end"]
first, *others = x

# %% change
x = x + 1
