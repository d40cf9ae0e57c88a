# New values of the same shape and dtype compile nothing.
# compiles: 1 0

# %% setup
import jax.numpy as jnp
x = jnp.arange(3.0)
w = {"a": jnp.ones(3), "b": [jnp.zeros(3), 2.0]}

# %% cell
y = x * w["a"] + w["b"][0] * w["b"][1]

# %% change
x = x + 1
w = {"a": jnp.arange(3.0), "b": [jnp.ones(3), 5.0]}
