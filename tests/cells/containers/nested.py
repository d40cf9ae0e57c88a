# Lists in tuples in dictionaries, with empty ones and None.
# compiles: 1 0

# %% setup
import jax.numpy as jnp
tree = {"a": [(jnp.arange(3.0), None), ()], "b": {}, "c": ([], {"d": jnp.ones(2)})}

# %% cell
import jax
out = jax.tree.map(lambda v: v * 2, tree)
count = len(jax.tree.leaves(tree))

# %% change
tree["c"][1]["d"] = jnp.zeros(2)
