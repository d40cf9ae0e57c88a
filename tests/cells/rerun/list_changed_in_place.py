# An element of an input list is replaced between the runs.
# compiles: 1 0

# %% setup
import jax.numpy as jnp
layers = [jnp.ones((3, 3)), jnp.eye(3)]
x = jnp.arange(3.0)

# %% cell
y = x
for w in layers:
    y = y @ w

# %% change
layers[0] = jnp.ones((3, 3)) * 2
