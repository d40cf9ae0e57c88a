# A magic inside an `if`.
# expect: refused "%"
# line: 3

# %% setup
import jax.numpy as jnp
x = jnp.ones(3)

# %% cell
if True:
    %who
y = x * 2

# %% after
w = x * 2
