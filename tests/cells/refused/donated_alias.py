# A donated array that another name holds.
# expect: refused "would delete `alias` too"

# %% setup
import jax
import jax.numpy as jnp
import numpy as np
x = jnp.arange(3.0)
alias = x

# %% cell -d x
x = x * 2

# %% after
z = alias + x
