# A configuration dictionary that changes between two calls.

# %% setup
import jax
import jax.numpy as jnp
import numpy as np
x = jnp.arange(3.0)
config = {"scale": 2, "names": ["a"]}

# %% cell
def f(v): return v * config["scale"] + len(config["names"])

a = f(x)
config["scale"] = 3
config["names"].append("b")
b = f(x)

# %% change
x = x + 1
