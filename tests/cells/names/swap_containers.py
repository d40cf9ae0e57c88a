# Two dictionaries change places and stay the objects that they are.

# %% setup
import jax.numpy as jnp
p = {"w": jnp.arange(3.0)}
q = {"w": jnp.ones(2), "b": jnp.zeros(2)}
keep = [p, q]

# %% cell
p, q = q, p
y = p["w"].sum() + q["w"].sum()
