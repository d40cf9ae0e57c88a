# OrderedDict, defaultdict, mapping proxy, deque and sets as arguments.

# %% setup
import jax
import jax.numpy as jnp
import numpy as np
x = jnp.arange(3.0)

# %% cell
import collections, types

def total(d): return sum(d.values())
def first(q): return q[0] + q[-1]
def count(s, v): return v * len(s)

ordered = collections.OrderedDict(b=x, a=x * 2)
default = collections.defaultdict(list, {"k": x})
rows = [total(ordered), total(default), total(types.MappingProxyType({"m": x}))]
rows += [first(collections.deque([x, x + 1])), count({1, 2}, x), count(frozenset("abc"), x)]
keys = list(ordered), list(default)

# %% change
x = x + 1
