# Copies of input containers may be changed: shallow, deep, by slicing.
# compiles: 1 0

# %% setup
import copy
import jax.numpy as jnp
d = {"w": jnp.arange(3.0), "inner": {"k": jnp.ones(2)}}
rows = [jnp.ones(3), jnp.zeros(3)]

# %% cell
new = dict(d)
new["w"] = new["w"] * 2
deep = copy.deepcopy(d)
deep["inner"]["k"] = deep["inner"]["k"] + 1
tail = rows[1:]
tail.append(rows[0] * 3)
again = [*rows]
again[0] = x = again[0] + 1

# %% change
d["w"] = jnp.ones(3)
