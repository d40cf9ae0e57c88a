# A `global` statement in a function of the cell binds in the namespace.
# compiles: 1 0

# %% setup
import jax.numpy as jnp
x = jnp.arange(3.0)
total = jnp.zeros(3)

# %% cell
if True:
    def bump(v):
        global total, calls
        total = total + v
        calls = "one"
        return v * 2
y = bump(x)

# %% change
x = x + 1
