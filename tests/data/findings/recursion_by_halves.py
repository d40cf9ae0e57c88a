# A recursion that halves its argument is not deep.
# silent: unrolled_loop

# %% setup
import jax, jax.numpy as jnp
x = jnp.arange(64.0)

# %% cell
def total(x):
    if x.size == 1:
        return jnp.sin(x[0])
    half = x.size // 2
    return total(x[:half]) + total(x[half:])

y = total(x)
