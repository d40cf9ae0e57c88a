# Names that begin with an underscore are kept.
# compiles: 1 0

# %% setup
import jax.numpy as jnp
_x = jnp.arange(3.0)
_x

# %% cell
_y = _x * 2
__z = _y + 1
_

# %% change
_x = _x + 1
_x
