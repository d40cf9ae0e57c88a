# A Python float does not widen a narrow array.
# compiles: 1 0

# %% setup
import jax.numpy as jnp
x = jnp.ones(3, jnp.bfloat16)
h = jnp.ones(3, jnp.float16)
n = jnp.arange(3, dtype=jnp.int8)
k = 2.0

# %% cell
y = x * k
z = h + k
w = n * k

# %% change
k = 3.0
