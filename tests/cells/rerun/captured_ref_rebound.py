# A Ref under the name of an earlier one is the one that changes.

# %% setup
import jax
import jax.numpy as jnp
first = ref = jax.new_ref(jnp.zeros(3))

def bump(x):
    ref[0] += x
    return ref[...] * 1.0

# %% cell
y = bump(2.0)

# %% change
second = ref = jax.new_ref(jnp.ones(3))

# %% after
values = first[...], second[...]
