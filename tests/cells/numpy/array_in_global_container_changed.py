# A helper reads NumPy arrays from a container, a default and an object; they change between runs.

# %% setup
import jax.numpy as jnp
import numpy as np
x = jnp.ones(3)
table = {"w": np.arange(3.0)}
class Config:
    pass
config = Config()
config.shift = np.arange(3.0)
def helper(v, more=np.arange(3.0)):
    return v * table["w"] + config.shift + more

# %% cell
y = helper(x)

# %% change
table["w"][0] = 5.0
config.shift[1] = 7.0
helper.__defaults__[0][2] = 9.0

# %% after
z = x * table["w"] + config.shift
