# A jitted function that reads a matrix from outside captures it.
# fires: captured_constant line 3

# %% setup
import jax.numpy as jnp
W = jnp.ones((200, 200))
x = jnp.arange(200.0)

# %% cell
def f(x):
    return W @ x

y = f(x)
