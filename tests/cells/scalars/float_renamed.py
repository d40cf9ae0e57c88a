# Another name for a float.
# may differ: y float-becomes-array
# may differ: z* float-becomes-array

# %% setup
import jax.numpy as jnp
x = jnp.arange(3.0)
lr = 0.5

# %% cell
y = lr
z = [lr, "static"]
w = x * lr
