# A few numbers as a constant cost nothing.
# silent: captured_constant

# %% setup
import jax.numpy as jnp
scale = jnp.array([0.1, 0.2, 0.3])
x = jnp.arange(3.0)

# %% cell
def f(x):
    return scale * x

y = f(x)
