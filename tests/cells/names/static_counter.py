# A static `+=` counter goes up on every run and is not part of the program.
# compiles: 1 0

# %% setup
import jax.numpy as jnp
x = jnp.arange(3.0)
step = 0

# %% cell
step += 1
y = x * 2
