# `-t` with a name whose value cannot be traced.
# expect: refused "label"

# %% setup
import jax.numpy as jnp
x = jnp.ones(3)
label = "text"

# %% cell -t label
y = x * len(label)

# %% after
w = x * 2
