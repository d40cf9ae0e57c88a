# Neither does a static int.
# compiles: 1 1

# %% setup
import jax.numpy as jnp
x = jnp.ones(3, jnp.bfloat16)
n = jnp.arange(3, dtype=jnp.int8)
k = 2

# %% cell
y = x * k
z = n * k
w = k / 4

# %% change
k = 3
