# A recursion of 40 calls is unrolled as a loop is.
# fires: unrolled_loop line 5

# %% setup
import jax, jax.numpy as jnp
x = jnp.arange(8.0)

# %% cell
def power(x, n):
    if n == 0:
        return x
    return jnp.sin(power(x, n - 1)) * 2 + 1

y = power(x, 40)
