# A module that does not exist.
# expect: raises ModuleNotFoundError "no_such_module_anywhere"
# line: 3

# %% setup
import jax.numpy as jnp
x = jnp.ones(3)

# %% cell
y = x * 2
import no_such_module_anywhere

# %% after
w = x * 2
