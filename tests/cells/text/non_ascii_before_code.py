# Characters of several bytes before the code of a line.
# compiles: 1 0

# %% setup
import jax.numpy as jnp
x = jnp.arange(3.0)

# %% cell
label = "größe→🙂"; y = x * 2; größe = y + 1
größe

# %% change
x = x + 1
