# A dictionary that is read through a `ChainMap`, a view, a proxy, a `UserDict` or a method has its new value.

# %% setup
import collections
import functools
import types
import weakref
import jax.numpy as jnp
x = jnp.arange(3.0)
rates = {"a": 2.0}
chain = collections.ChainMap({}, rates)
proxy, values, get = types.MappingProxyType(rates), rates.values(), rates.get
user, users = collections.UserDict(a=2.0), collections.UserList([2.0])

class Key:
    rate = 2.0

    def __repr__(self):
        return "Key()"

key = Key()
by_object, keys = {key: 1.0}, {key}
weak = weakref.WeakKeyDictionary({key: 2.0})
scale = functools.partial(lambda v, a: v * a, a=2.0)
view = memoryview(bytearray([2]))

# %% cell
def by_chain(v):
    return v * chain["a"]

def by_proxy(v):
    return v * proxy["a"]

def by_view(v):
    return v * sum(values)

def by_method(v):
    return v * get("a")

def by_user(v):
    return v * user["a"] + users[0]

def by_keys(v):
    return v * sum(one.rate for one in by_object) + sum(one.rate for one in keys)

def by_weak(v):
    return v * weak[key]

def by_partial(v):
    return scale(v)

def by_memory(v):
    return v * view[0]

a = [
    by_chain(x), by_proxy(x), by_view(x), by_method(x), by_user(x), by_keys(x), by_weak(x),
    by_partial(x), by_memory(x),
]
chain.maps[1]["a"] = 5.0
user["a"], users[0], key.rate, weak[key], view[0] = 5.0, 6.0, 7.0, 8.0, 9
scale.keywords["a"] = 10.0
b = [
    by_chain(x), by_proxy(x), by_view(x), by_method(x), by_user(x), by_keys(x), by_weak(x),
    by_partial(x), by_memory(x),
]
chain.maps[1]["a"] = user["a"] = users[0] = key.rate = weak[key] = scale.keywords["a"] = 2.0
view[0] = 2
