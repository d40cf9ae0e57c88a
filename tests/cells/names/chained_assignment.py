# Chained targets all get the value; a container is one object under all its names.
# compiles: 1 0

# %% setup
import jax.numpy as jnp
x = jnp.arange(3.0)

# %% cell
a = b = x * 2
c = d = [a, x]
d.append(b)

# %% change
x = x + 1

# %% after
c.append("shared")
