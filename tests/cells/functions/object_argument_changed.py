# A registered object argument that the function changes.

# %% setup
import jax
import jax.numpy as jnp
import numpy as np
x = jnp.arange(3.0)
import dataclasses
@jax.tree_util.register_dataclass
@dataclasses.dataclass
class Tree:
    w: object
tree = Tree(x)

# %% cell
def bump(t, v):
    t.w = t.w + v
    return t

out = bump(tree, x)
same = out is tree

# %% change
x = x + 1
