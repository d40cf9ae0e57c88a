# A NumPy generator moves on once for every run.
# compiles: 1 1

# %% setup
import random
import jax.numpy as jnp
import numpy as np
rng = np.random.default_rng(0)
dice = random.Random(0)
x = jnp.zeros(3)

# %% cell
noise = rng.normal(size=3)
pips = dice.randint(1, 6)
y = x + noise + pips

# %% after
more = rng.normal()
