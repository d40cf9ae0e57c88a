# A traced value kept in a container that is too deep among many to be in the snapshot.
# expect: refused "keeps a traced value in a list"

# %% setup
import jax.numpy as jnp
x = jnp.arange(3.0)
bag = {"rows": [[i] for i in range(60_000)]}

# %% cell
t = x.sum()
bag["rows"][59_000].append(t)

# %% after
kept = bag["rows"][59_000]
del bag
