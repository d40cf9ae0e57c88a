# Seeds that the cell sets hold afterwards, also when the cell fails.

# %% setup
import random
import numpy as np, jax.numpy as jnp
x = jnp.ones(2)

# %% cell
random.seed(11)
rng = np.random.default_rng(12)
order = random.sample(range(10), 4)
y = x * float(rng.normal())
state = rng.integers(0, 100)

# %% after
r = random.random(), int(rng.integers(0, 100))
