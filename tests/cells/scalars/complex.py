# A complex number is traced.
# differs: w float-becomes-array
# compiles: 1 0

# %% setup
import jax.numpy as jnp
x = jnp.arange(3.0)
z = 1 + 2j

# %% cell
y = x * z
w = z * z.conjugate()

# %% change
z = 3 - 1j
