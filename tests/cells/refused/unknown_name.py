# A name that is bound nowhere.
# expect: raises NameError "undefined_name"
# line: 3

# %% setup
import jax.numpy as jnp
x = jnp.ones(3)

# %% cell
y = x * 2
z = y + undefined_name

# %% after
w = x * 2
