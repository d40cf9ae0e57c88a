# The shell itself can be asked in the cell.

# %% setup
import jax.numpy as jnp
x = jnp.ones(2)

# %% cell
shell = type(get_ipython()).__mro__[-1].__name__
y = x * 2
