# A traced value kept in a container that is too deep among many to be in the snapshot.
# expect: refused "keeps a traced value in a list"

# %% setup
import jax.numpy as jnp
x = jnp.arange(3.0)
bag = {"rows": [[] for _ in range(50_500)]}

# %% cell
t = x.sum()
bag["rows"][50_400].append(t)

# %% after
kept = bag["rows"][50_400]
del bag
