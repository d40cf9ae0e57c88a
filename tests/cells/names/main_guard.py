# `__name__` is `__main__` in a notebook.
# compiles: 1 0

# %% setup
import jax.numpy as jnp
x = jnp.arange(3.0)

# %% cell
if __name__ == "__main__":
    y = x * 2

# %% change
x = x + 1
