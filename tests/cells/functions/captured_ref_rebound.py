# A call after a Ref was replaced in the cell changes the new one.

# %% setup
import jax
import jax.numpy as jnp
first = ref = jax.new_ref(jnp.zeros(3))

# %% cell
def bump(x):
    ref[0] += x
    return ref[...] * 1.0

a = bump(1.0)
second = ref = jax.new_ref(jnp.full(3, 30.0, jnp.float32))
b = bump(1.0)

# %% after
values = first[...], second[...]
