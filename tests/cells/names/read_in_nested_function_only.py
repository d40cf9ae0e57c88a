# A function inside an `if` is block form; names read only in its body are inputs.
# compiles: 1 0

# %% setup
import jax.numpy as jnp
x = jnp.arange(3.0)
offset = jnp.asarray(4.0)

# %% cell
if True:
    def shifted(v):
        def inner(u):
            return u + offset
        return inner(v) * 2
y = shifted(x)

# %% change
offset = jnp.asarray(-1.0)

# %% after
z = shifted(x)
