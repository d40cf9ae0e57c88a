# Dictionaries and None as arguments of a jitted function.

# %% setup
import jax.numpy as jnp
params = {"w": jnp.arange(3.0), "b": None}
x = jnp.ones(3)

# %% cell
def predict(p, v, *, shift=None):
    out = p["w"] * v
    return {"out": out if p["b"] is None else out + p["b"], "v": v}

y = predict(params, x)
z = predict(params, x, shift=1.0)

# %% change
params["b"] = jnp.ones(3)
