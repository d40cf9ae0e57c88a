# A registered subclass of dict goes in and comes back by its own rule.

# %% setup
import jax
import jax.numpy as jnp
import numpy as np
x = jnp.arange(3.0)
class State(dict): pass
jax.tree_util.register_pytree_node(State, lambda s: (tuple(s.values()), tuple(s.keys())), lambda k, v: State(zip(k, v)))
s = State(a=x, b=x + 1)

# %% cell
def double(tree):
    return jax.tree.map(lambda v: v * 2, tree)

t = double(s)
names = list(t)

# %% change
s['a'] = x + 5
