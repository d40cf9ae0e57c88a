# value_and_grad with auxiliary data, some of it static.
# compiles: 1 0

# %% setup
import jax
import jax.numpy as jnp
params = {"w": jnp.arange(3.0), "b": jnp.asarray(1.0)}
x = jnp.ones(3)

def loss(p, v):
    out = p["w"] * v + p["b"]
    return (out ** 2).sum(), {"out": out, "n": v.size}

# %% cell
(value, aux), grads = jax.value_and_grad(loss, has_aux=True)(params, x)

# %% change
x = x + 1
