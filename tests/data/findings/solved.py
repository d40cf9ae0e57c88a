# A solve, and the inverse of a small matrix.
# silent: explicit_inverse

# %% setup
import jax.numpy as jnp
a, b = 3 * jnp.eye(64), jnp.ones(64)

# %% cell
y = jnp.linalg.solve(a, b)
z = jnp.linalg.inv(a[:3, :3]) @ b[:3]
