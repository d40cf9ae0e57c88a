# An inverse that several products read, or that is a result.
# silent: explicit_inverse

# %% setup
import jax.numpy as jnp
a, b = 3 * jnp.eye(64), jnp.ones(64)

# %% cell
p = jnp.linalg.inv(a)
y = p @ b
z = p @ y
