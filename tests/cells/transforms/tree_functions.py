# jax.tree over inputs with static leaves.
# compiles: 1 0

# %% setup
import jax
import jax.numpy as jnp
tree = {"w": jnp.arange(3.0), "b": [jnp.ones(2), jnp.zeros(())]}

# %% cell
norms = jax.tree.map(jnp.linalg.norm, {"w": tree["w"], "b": tree["b"][0]})
leaves, treedef = jax.tree.flatten(tree)
back = jax.tree.unflatten(treedef, [v + 1 for v in leaves])
paths = [jax.tree_util.keystr(p) for p, _ in jax.tree_util.tree_leaves_with_path(tree)]

# %% change
tree["w"] = jnp.ones(3)
