# An input kept in a dictionary of weak references.
# expect: refused "weak reference"

# %% setup
import weakref
import jax.numpy as jnp
x = jnp.arange(3.0)
known = weakref.WeakValueDictionary()

# %% cell
known["x"] = x
y = x * 2

# %% after
w = x + len(known)
