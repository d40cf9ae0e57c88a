# Solving, decomposing, transforming.
# compiles: 1 0

# %% setup
import jax.numpy as jnp
m = jnp.asarray([[2.0, 1.0], [1.0, 3.0]])
b = jnp.asarray([1.0, 2.0])

# %% cell
x = jnp.linalg.solve(m, b)
c = jnp.linalg.cholesky(m)
f = jnp.fft.fft(b)
e = jnp.einsum("ij,j->i", m, b)
e

# %% change
b = b * 2
