# The keys of a dict-like NNX state keep their order, and so do those of its parts.
# needs: flax

# %% setup
import jax
import jax.numpy as jnp
from flax import nnx
x = jnp.arange(3.0)
given = nnx.State({"z": x, "m": {"y": x, "b": x}, "a": x})

# %% cell
made = nnx.State({"z": x * 2, "m": {"y": x + 1, "b": x}, "a": x * 3})
order, inner = list(made), list(made["m"])
mapped = {k: v for k, v in given.items()}
there = list(given)
made

# %% change
x = x + 1

# %% after
order_after, inner_after = list(made), list(made["m"])
