# A float is traced and an int is static: both give the right value.
# compiles: 1 1

# %% setup
import jax.numpy as jnp
x = jnp.arange(3.0)
lr = 0.5

# %% cell
y = x * lr

# %% change
lr = 2
