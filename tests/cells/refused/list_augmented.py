# `+=` on an input list changes the list.
# expect: refused "in place"
# line: 2

# %% setup
import jax.numpy as jnp
x = jnp.arange(3.0)
history = ["start"]
alias = history

# %% cell
history += [x * 2]

# %% after
history.append("after")
