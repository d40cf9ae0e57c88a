# NumPy arrays that the cell makes from static values stay NumPy arrays, and may be filled.
# compiles: 1 0

# %% setup
import jax.numpy as jnp
import numpy as np
x = jnp.arange(3.0)

# %% cell
grid = np.linspace(0, 1, 3)
buffer = np.zeros(3)
buffer[1] = 5
buffer += grid
view = buffer[1:]
y = x * buffer + grid.sum()

# %% change
x = x + 1

# %% after
buffer[2] = -1
