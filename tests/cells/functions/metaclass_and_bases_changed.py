# What a metaclass computes, the bases of a class and the class of an object have their new value.

# %% setup
import abc
import functools
import jax.numpy as jnp
x = jnp.arange(3.0)
state, offset = {"rate": 2.0}, 1.0

class Meta(type):
    shift = 1.0

    @property
    def rate(cls):
        return state["rate"] + offset

    def __getattr__(cls, name):
        if name == "_rate_":
            return state["rate"]
        raise AttributeError(name)

class Model(metaclass=Meta):
    pass

class Low:
    rate = 2.0

class High:
    rate = 5.0

class Derived(Low):
    pass

class Kind(abc.ABC):
    pass

class Lazy:
    @functools.cached_property
    def rate(self):
        return offset

derived, changed = Derived(), Low()

# %% cell
def by_property(v):
    return v * Model.rate + Model.shift

def by_getattr(v):
    return v * Model._rate_

def by_base(v):
    return v * derived.rate

def by_class(v):
    return v * changed.rate

def by_registry(v):
    return v * (5.0 if isinstance(derived, Kind) else 2.0)

def by_cached(v):
    return v * Lazy().rate

def by_subclasses(v):
    return v * len(Low.__subclasses__())

a = [
    by_property(x), by_getattr(x), by_base(x), by_class(x), by_registry(x), by_cached(x),
    by_subclasses(x),
]
state["rate"], offset, Meta.shift = 5.0, 3.0, 4.0
Derived.__bases__ = (High,)
changed.__class__ = High
Kind.register(Derived)
b = [
    by_property(x), by_getattr(x), by_base(x), by_class(x), by_registry(x), by_cached(x),
    by_subclasses(x),
]
state["rate"], offset, Meta.shift = 2.0, 1.0, 1.0
Derived.__bases__ = (Low,)
changed.__class__ = Low
