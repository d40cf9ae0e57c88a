# A Counter of strings is static.
# compiles: 1 1

# %% setup
from collections import Counter
import jax.numpy as jnp
x = jnp.arange(3.0)
counts = Counter("abca")

# %% cell
y = x * counts["a"]
common = counts.most_common(1)

# %% change
counts["a"] += 3
