# An existing `@jax.jit` is kept, and nothing is jitted twice.
# compiles: 1 1

# %% setup
import jax
import jax.numpy as jnp
x = jnp.arange(3.0)

# %% cell
@jax.jit
def f(v):
    return v * 2

y = f(x)

# %% change
x = x + 1
