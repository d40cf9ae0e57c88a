# NumPy arrays inside global containers, tuples, objects and classes that change between calls.

# %% setup
import collections
import jax.numpy as jnp
import numpy as np
x = jnp.ones(3)
Pair = collections.namedtuple("Pair", "first second")
class Config:
    scale = np.arange(3.0)
    def __init__(self):
        self.shift = np.arange(3.0)
config = Config()
table = {"w": np.arange(3.0), "rows": [np.arange(3.0)], "pair": Pair(np.arange(3.0), 2)}
both = (np.arange(3.0), {"deep": (np.arange(3.0),)})

# %% cell
def total(v):
    kept = v * table["w"] + table["rows"][0] + table["pair"].first
    return kept + config.shift + Config.scale + both[0] + both[1]["deep"][0]
def picked(v, given):
    return v * given["w"], table["w"]
found = [total(x)]
table["w"][0] = 5.0
found.append(total(x))
table["rows"][0][0] = 7.0
found.append(total(x))
table["pair"].first[0] = 9.0
config.shift[1] = 11.0
found.append(total(x))
Config.scale[2] = 13.0
both[0][2] = 15.0
both[1]["deep"][0][2] = 17.0
found.append(total(x))
first = picked(x, table)
table["w"][1] = 77.0
second = picked(x, table)

# %% change
table["w"][2] = 100.0
config.shift[0] = 50.0

# %% after
z = x * table["w"]
