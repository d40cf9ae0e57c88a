# An inverse as the right operand.
# fires: explicit_inverse line 4

# %% setup
import jax.numpy as jnp
a, b = 3 * jnp.eye(64), jnp.ones((5, 64))

# %% cell
def whiten(a, b):
    inverse = jnp.linalg.inv(a)
    return b @ inverse

y = whiten(a, b)
