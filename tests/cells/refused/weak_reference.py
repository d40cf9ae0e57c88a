# A weak reference to a traced value: it would be dead when the cell has run.
# expect: refused "weak reference"

# %% setup
import weakref
import jax.numpy as jnp
x = jnp.arange(3.0)

# %% cell
y = x * 2
ref = weakref.ref(y)

# %% after
w = x + 1
