# An inner dictionary of an input updated.
# expect: refused "in place"
# line: 3

# %% setup
import jax.numpy as jnp
cfg = {"model": {"opt": {"lr": 0.1}}, "x": jnp.arange(3.0)}

# %% cell
y = cfg["x"] * cfg["model"]["opt"]["lr"]
cfg["model"]["opt"].update(lr=0.2)

# %% after
z = cfg["model"]["opt"]["lr"]
