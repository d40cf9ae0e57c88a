# An element of a JAX array assigned: plain Python refuses it too.
# expect: raises TypeError "item assignment"
# line: 3

# %% setup
import jax.numpy as jnp
x = jnp.arange(3.0)

# %% cell
y = x * 2
x[0] = 10.0

# %% after
z = x + 1
