# A function that draws from NumPy, globally and from a generator.

# %% setup
import jax
import jax.numpy as jnp
import numpy as np
x = jnp.arange(3.0)
np.random.seed(0)
rng = np.random.default_rng(0)

# %% cell
def noise(v): return v + np.random.rand()
def more(v): return v + rng.random()

rows = [noise(x), noise(x), more(x), more(x)]
state = rng.bit_generator.state["state"]["state"]
after = np.random.rand()

# %% change
x = x + 1
