# A recursive helper of an earlier cell walks a nested container of arrays.

# %% setup
import jax.numpy as jnp
def depth_sum(tree, depth=1):
    if isinstance(tree, (list, tuple)):
        return sum((depth_sum(t, depth + 1) for t in tree), start=0.0)
    if isinstance(tree, dict):
        return sum((depth_sum(t, depth + 1) for t in tree.values()), start=0.0)
    return depth * tree
tree = {"a": jnp.ones(2), "b": [jnp.ones(2), (jnp.ones(2), {"c": jnp.ones(2)})]}

# %% cell
total = depth_sum(tree)
fib = lambda n: n if n < 2 else fib(n - 1) + fib(n - 2)
eighth = fib(8)
total = total * eighth

# %% change
tree = {"a": [jnp.ones(3)]}
