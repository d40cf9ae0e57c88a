# An object of a registered class that holds itself.
# expect: same

# %% setup
import jax
import jax.numpy as jnp
@jax.tree_util.register_pytree_node_class
class Node:
    def __init__(self, w):
        self.w, self.first = w, self
    def tree_flatten(self):
        return (self.w, self.first), None
    @classmethod
    def tree_unflatten(cls, aux, children):
        return cls(children[0])
node = Node(jnp.arange(3.0))

# %% cell
y = node.w * 2

# %% change
node.w = node.w + 1

# %% after
z = y + 1
