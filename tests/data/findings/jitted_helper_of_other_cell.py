# A jitted helper that a block calls captures an array, as the program of the block does.
# fires: captured_constant line 5 source helper

# %% setup
import jax, jax.numpy as jnp
x = jnp.arange(200.0)

# %% helper
W = jnp.ones((200, 200))

@jax.jit
def product(v):
    return W @ v

# %% cell
y = product(x) + 1
