# A static list of ints is changed in place between the runs.
# compiles: 1 1

# %% setup
import jax.numpy as jnp
x = jnp.arange(6.0)
axes = [0, 2]

# %% cell
y = x[jnp.array(axes)] * 2

# %% change
axes[1] = 4
