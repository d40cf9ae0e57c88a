# A last expression that is a dictionary keeps the order in which it was written.
# compiles: 1 0

# %% setup
import jax.numpy as jnp
x = jnp.arange(3.0)

# %% cell
{"loss": x.sum(), "accuracy": x.mean(), "n": len(x), "again": {"b": x, "a": -x}}

# %% change
x = x + 1
