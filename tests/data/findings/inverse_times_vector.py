# An inverse for one product.
# fires: explicit_inverse line 2

# %% setup
import jax.numpy as jnp
a, b = 3 * jnp.eye(64), jnp.ones(64)

# %% cell
y = jnp.linalg.inv(a) @ b
