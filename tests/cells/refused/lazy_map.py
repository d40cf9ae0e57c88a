# A `map` and a `zip` hold traced values until they are read.
# expect: refused "trac"

# %% setup
import jax.numpy as jnp
x = jnp.arange(3.0)

# %% cell
doubled = map(lambda v: v * 2, [x])

# %% after
z = x + 1
