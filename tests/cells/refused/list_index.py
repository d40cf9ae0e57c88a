# A traced integer as the index of a Python list.
# expect: refused "TracerInteger|Concretization|trac"
# line: 2

# %% setup
import jax.numpy as jnp
words = ["a", "b"]
i = jnp.asarray(1)

# %% cell
word = words[i]

# %% after
z = words[0]
