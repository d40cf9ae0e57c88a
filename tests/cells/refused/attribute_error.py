# An attribute that does not exist.
# expect: raises AttributeError "no_such_function"
# line: 2

# %% setup
import jax.numpy as jnp
x = jnp.ones(3)

# %% cell
y = jnp.no_such_function(x)

# %% after
w = x * 2
