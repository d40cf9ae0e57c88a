# A loop that calls the compiled function is outside of it.
# silent: unrolled_loop
# silent: training_loop

# %% setup
import jax.numpy as jnp
x = jnp.arange(8.0)

# %% cell
def f(s):
    return jnp.sin(s) + 1

s = x
for k in range(100):
    s = f(s)
