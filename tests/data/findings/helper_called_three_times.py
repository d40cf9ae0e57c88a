# A helper with a loop of four iterations, called in three places.
# silent: unrolled_loop

# %% setup
import jax.numpy as jnp
x = jnp.arange(8.0)
def helper(a):
    for _ in range(4):
        a = jnp.sin(a) * jnp.cos(a) + jnp.exp(a) - jnp.tanh(a)
    return a

# %% cell
y = helper(x)
z = helper(y)
w = helper(z) + helper(x)
