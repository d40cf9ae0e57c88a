# The guard of a script.

# %% setup
import jax
import jax.numpy as jnp
import numpy as np
x = jnp.arange(3.0)

# %% cell
def main(v):
    return v * 3

if __name__ == "__main__":
    y = main(x)
else:
    y = None

# %% change
x = x + 1
