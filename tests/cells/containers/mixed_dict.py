# A dictionary of arrays, floats, ints, strings, flags and None: each leaf is traced or static by itself.
# may differ: new['lr'] float-becomes-array
# compiles: 1 0

# %% setup
import jax.numpy as jnp
cfg = {"w": jnp.arange(3.0), "lr": 0.1, "name": "sgd", "n": 3, "flag": True, "none": None, "f": jnp.tanh}
x = jnp.ones(3)

# %% cell
new = {**cfg, "w": cfg["f"](cfg["w"]) - cfg["lr"] * x * cfg["n"] if cfg["flag"] else None}
label = cfg["name"].upper()

# %% change
cfg["lr"] = 0.25
