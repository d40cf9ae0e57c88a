# Aliases among containers of the cell's own.
# compiles: 1 0

# %% setup
import jax.numpy as jnp
x = jnp.arange(3.0)

# %% cell
a = []
b = {"a": a}
c = (a, b)
a.append(x * 2)
b["again"] = a

# %% change
x = x + 1

# %% after
a.append(1)
