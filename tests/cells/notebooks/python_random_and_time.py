# The position of Python's and NumPy's generators after a cell is that of plain Python.

# %% setup
import random
import numpy as np, jax.numpy as jnp
random.seed(3); np.random.seed(4)
gen = np.random.default_rng(5)
x = jnp.ones(3)

# %% cell
pick = random.choice(["a", "b", "c"])
noise = np.random.normal(size=3).astype(np.float32)
more = gen.integers(0, 10, 3)
y = x + noise

# %% after
position = random.random(), np.random.rand(), gen.random()
