# Functions that register a pytree are handed over, and stay plain.

# %% setup
import jax
import jax.numpy as jnp
import numpy as np
x = jnp.arange(3.0)

# %% cell
class Foo:
    def __init__(self): self.a = 1

def flatten_foo(foo): return [foo.a], None
def unflatten_foo(static, nodes): return Foo()

jax.tree_util.register_pytree_node(Foo, flatten_foo, unflatten_foo)
leaves = jax.tree.leaves(Foo())

# %% change
x = x + 1

# %% after
more = jax.tree.leaves(Foo())
