# A function that assigns globals.

# %% setup
import jax
import jax.numpy as jnp
import numpy as np
x = jnp.arange(3.0)
total = 0

# %% cell
def main():
    global y, total
    y = x * 2
    total = total + 1

main()
main()

# %% change
x = x + 1
