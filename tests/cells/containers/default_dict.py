# A defaultdict of the cell keeps its factory.
# compiles: 1 0

# %% setup
from collections import defaultdict
import jax.numpy as jnp
x = jnp.arange(3.0)

# %% cell
groups = defaultdict(list)
for i in range(4):
    groups[i % 2].append(x * i)

# %% change
x = x + 1

# %% after
groups["new"].append(1)
