# A mask whose result has a shape that depends on values.
# expect: refused "NonConcreteBoolean"
# line: 2

# %% setup
import jax.numpy as jnp
x = jnp.arange(6.0)

# %% cell
y = x[x > 2]

# %% after
z = x + 1
