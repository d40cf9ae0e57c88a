# Inputs that the program does not need do not make it compile again.
# compiles: 1 0

# %% setup
import jax.numpy as jnp
x = jnp.arange(3.0)
unused = jnp.ones(2)

# %% cell
y = x * 2
unused.shape

# %% change
unused = jnp.ones((2, 5))
