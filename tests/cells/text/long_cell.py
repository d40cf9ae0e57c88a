# A hundred statements.
# compiles: 1 0

# %% setup
import jax.numpy as jnp
x = jnp.arange(3.0)

# %% cell
y = x
for i in range(100): y = y + i
y = (
    y
    + 1
    + (lambda v:
       v * 2)(x)
)
if x.ndim: y = y - 1; z = y

# %% change
x = x + 1
