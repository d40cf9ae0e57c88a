# Containers: dicts, tuples, None, classes, optimizer states.

# ==== a mask in place of None
# cause: structure | The pytree structure (treedef) of `mask` changed: None → bool[3].
# fix: in place of `None`, one that changes nothing, such as zeros, ones or an all-true mask
@jax.jit
def attend(x, mask):
    return x if mask is None else jnp.where(mask, x, -jnp.inf)

mask = np.array([True, True, False])
# -- first
attend(ones(3), None)
# -- second
attend(ones(3), mask)
# -- fixed first
attend(ones(3), np.ones(3, bool))

# ==== a carry that begins with None
# cause: structure | The pytree structure (treedef) of `state['mu']` changed: None → f32[3].
# fix: Pass an array for `state['mu']` in every call: in place of `None`
@jax.jit
def momentum(state, g):
    mu = g if state["mu"] is None else 0.9 * state["mu"] + g
    return {"mu": mu}

state = {"mu": None}
# -- first
state = momentum(state, ones(3))
# -- second
momentum(state, ones(3))
# -- fixed
@jax.jit
def momentum(state, g):
    mu = g if state["mu"] is None else 0.9 * state["mu"] + g
    return {"mu": mu}

state = {"mu": jnp.zeros(3)}

# ==== one more entry in a dict
# cause: structure | The pytree structure (treedef) changed: `params['bias']` was added.
# fix: Keep the treedef fixed: the same containers, keys
@jax.jit
def norm(params):
    return sum((leaf**2).sum() for leaf in jax.tree.leaves(params))

params = {"w": ones(3)}
# -- first
norm(params)
# -- second
params["bias"] = ones(1)
norm(params)
# -- fixed
@jax.jit
def norm(params):
    return sum((leaf**2).sum() for leaf in jax.tree.leaves(params))

params = {"w": ones(3), "bias": np.zeros(1, np.float32)}

# ==== a batch without labels
# cause: structure | The pytree structure (treedef) changed: `batch['y']` was removed.
# fix: Keep the treedef fixed: the same containers, keys
@jax.jit
def predict(batch):
    return batch["x"] * 2

batch = {"x": ones(3), "y": ones(3)}
# -- first
predict(batch)
# -- second
predict({"x": ones(3)})
# -- fixed second
predict({"x": ones(3), "y": np.zeros(3, np.float32)})

# ==== a list where a tuple was
# cause: structure | The pytree structure (treedef) of `batch` changed: tuple → list.
# fix: Keep the treedef fixed: the same containers
@jax.jit
def total(batch):
    return batch[0].sum() + batch[1].sum()

# -- first
total((ones(3), ones(3)))
# -- second
total([ones(3), ones(3)])
# -- fixed second
total(tuple([ones(3), ones(3)]))

# ==== an OrderedDict where a dict was
# cause: structure | The pytree structure (treedef) of `params` changed: dict → OrderedDict.
# fix: Keep the treedef fixed: the same containers
import collections

evaluate = jax.jit(lambda params: params["w"] + 1)
# -- first
evaluate({"w": ones(3)})
# -- second
evaluate(collections.OrderedDict(w=ones(3)))
# -- fixed second
evaluate(dict(collections.OrderedDict(w=ones(3))))

# ==== an OrderedDict in another order
# cause: static_value | The static part `params.keys()[0]` changed: 'a' → 'b'.
# fix: Create `params.keys()` once and reuse it
import collections

evaluate = jax.jit(lambda params: params["a"] + params["b"])
one, other = collections.OrderedDict(a=ones(3), b=ones(3)), collections.OrderedDict(b=ones(3), a=ones(3))
# -- first
evaluate(one)
# -- second
evaluate(other)
# -- fixed second
evaluate(one)

# ==== a NamedTuple made anew in a function
# cause: structure | The pytree structure (treedef) changed: `state` has a new class, also named `State`.
# fix: Define the class `State` once, outside the function that uses it.
from typing import NamedTuple

@jax.jit
def update(state):
    return jax.tree.map(lambda leaf: leaf + 1, state)

def run(w):
    class State(NamedTuple):
        w: np.ndarray

    return update(State(w))

# -- first
run(ones(3))
# -- second
run(ones(3))
# -- fixed
from typing import NamedTuple

@jax.jit
def update(state):
    return jax.tree.map(lambda leaf: leaf + 1, state)

class State(NamedTuple):
    w: np.ndarray

def run(w):
    return update(State(w))

# ==== a plain tuple where a NamedTuple was
# cause: structure | The pytree structure (treedef) of `state` changed: State → tuple.
# fix: Keep the treedef fixed: the same containers
from typing import NamedTuple

class State(NamedTuple):
    w: np.ndarray
    step: np.ndarray

@jax.jit
def update(state):
    w, step = state
    return State(w + 1, step + 1)

# -- first
update(State(ones(3), ones()))
# -- second
update((ones(3), ones()))
# -- fixed second
update(State(ones(3), ones()))

# ==== a list that grows
# cause: structure | The pytree structure (treedef) changed: `history[2]` was added.
# fix: Keep the treedef fixed: the same containers, keys, lengths
@jax.jit
def smooth(history):
    return sum(history) / len(history)

history = [ones(3), ones(3)]
# -- first
smooth(history)
# -- second
smooth([*history, ones(3)])
# -- fixed second
smooth([*history[1:], ones(3)])

# ==== a static field of a dataclass
# cause: static_value | The static field `layer.rate` changed: 0.1 → 0.2.
# fix: Make `layer.rate` a data field
import dataclasses

@partial(jax.tree_util.register_dataclass, data_fields=["w"], meta_fields=["rate"])
@dataclasses.dataclass
class Layer:
    w: np.ndarray
    rate: float

forward = jax.jit(lambda layer: layer.w * layer.rate)
# -- first
forward(Layer(ones(3), 0.1))
# -- second
forward(Layer(ones(3), 0.2))
# -- fixed
import dataclasses

@partial(jax.tree_util.register_dataclass, data_fields=["w", "rate"], meta_fields=[])
@dataclasses.dataclass
class Layer:
    w: np.ndarray
    rate: float

forward = jax.jit(lambda layer: layer.w * layer.rate)

# ==== a function in the dict of a class with tree_flatten
# cause: static_identity | The static part `model['act']` is a different function object: `double`.
# fix: Create `model` once and reuse it
@jax.tree_util.register_pytree_node_class
class Model:
    def __init__(self, w, act):
        self.w, self.act = w, act

    def tree_flatten(self):
        return (self.w,), {"act": self.act}

    @classmethod
    def tree_unflatten(cls, static, leaves):
        return cls(*leaves, **static)

def made():
    def double(x):
        return x * 2
    return Model(ones(3), double)

forward = jax.jit(lambda model: model.act(model.w))
one, other = made(), made()
# -- first
forward(one)
# -- second
forward(other)
# -- fixed second
forward(one)

# ==== a static field of a class with tree_flatten
# cause: static_value | The static field `model.depth` changed: 2 → 3.
# fix: Make `model.depth` a data field, unless a shape or a Python branch depends on it
@jax.tree_util.register_pytree_node_class
class Model:
    def __init__(self, w, depth):
        self.w, self.depth = w, depth

    def tree_flatten(self):
        return (self.w,), (self.depth,)

    @classmethod
    def tree_unflatten(cls, depth, leaves):
        return cls(*leaves, *depth)

forward = jax.jit(lambda model: model.w * model.depth)
# -- first
forward(Model(ones(3), 2))
# -- second
forward(Model(ones(3), 3))
# -- fixed
@jax.tree_util.register_pytree_node_class
class Model:
    def __init__(self, w, depth):
        self.w, self.depth = w, depth

    def tree_flatten(self):
        return (self.w, self.depth), ()

    @classmethod
    def tree_unflatten(cls, _, leaves):
        return cls(*leaves)

forward = jax.jit(lambda model: model.w * model.depth)

# ==== a static field inside a list of layers
# cause: static_value | The static field `layers[1].name` changed: 'b' → 'c'.
# fix: Keep to a few values: each value of `layers[1].name` is a program of its own.
import dataclasses

@partial(jax.tree_util.register_dataclass, data_fields=["w"], meta_fields=["name"])
@dataclasses.dataclass
class Layer:
    w: np.ndarray
    name: str

forward = jax.jit(lambda layers: sum(layer.w for layer in layers))
# -- first
forward([Layer(ones(3), "a"), Layer(ones(3), "b")])
# -- second
forward([Layer(ones(3), "a"), Layer(ones(3), "c")])
# -- fixed second
forward([Layer(ones(3), "a"), Layer(ones(3), "b")])

# ==== a static field that is a new function
# cause: static_identity | The static part `layer.act` is a different function object: `<lambda>`.
# fix: Create `layer.act` once and reuse it: JAX compares `layer.act` by identity.
import dataclasses

@partial(jax.tree_util.register_dataclass, data_fields=["w"], meta_fields=["act"])
@dataclasses.dataclass
class Layer:
    w: np.ndarray
    act: object

forward = jax.jit(lambda layer: layer.act(layer.w))

def make():
    return Layer(ones(3), lambda x: x * 2)

# -- first
forward(make())
# -- second
forward(make())
# -- fixed
import dataclasses

@partial(jax.tree_util.register_dataclass, data_fields=["w"], meta_fields=["act"])
@dataclasses.dataclass
class Layer:
    w: np.ndarray
    act: object

forward = jax.jit(lambda layer: layer.act(layer.w))
act = lambda x: x * 2

def make():
    return Layer(ones(3), act)

# ==== a new Partial
# cause: static_identity | The static part `loss.func` is a different function object: `<lambda>`.
# fix: Create `loss.func` once and reuse it
apply = jax.jit(lambda loss, x: loss(x))

def make(scale):
    return jax.tree_util.Partial(lambda scale, x: (scale * x).sum(), scale)

# -- first
apply(make(ones(3)), ones(3))
# -- second
apply(make(ones(3)), ones(3))
# -- fixed
apply = jax.jit(lambda loss, x: loss(x))

def func(scale, x):
    return (scale * x).sum()

def make(scale):
    return jax.tree_util.Partial(func, scale)

# ==== a flax struct with a static field
# cause: static_value | The static field `config.rate` changed: 0.1 → 0.2.
# fix: Make `config.rate` a data field
# needs: flax
from flax import struct

@struct.dataclass
class Config:
    w: np.ndarray
    rate: float = struct.field(pytree_node=False)

forward = jax.jit(lambda config: config.w * config.rate)
# -- first
forward(Config(ones(3), 0.1))
# -- second
forward(Config(ones(3), 0.2))
# -- fixed
from flax import struct

@struct.dataclass
class Config:
    w: np.ndarray
    rate: float

forward = jax.jit(lambda config: config.w * config.rate)

# ==== a FrozenDict where a dict was
# cause: structure | The pytree structure (treedef) of `params` changed: dict → FrozenDict.
# fix: Keep the treedef fixed: the same containers
# needs: flax
from flax.core import freeze

forward = jax.jit(lambda params: params["w"] * 2)
# -- first
forward({"w": ones(3)})
# -- second
forward(freeze({"w": ones(3)}))
# -- fixed second
forward(dict(freeze({"w": ones(3)})))

# ==== a defaultdict where a dict was
# cause: structure | The pytree structure (treedef) of `totals` changed: dict → defaultdict.
# fix: Keep the treedef fixed: the same containers
import collections

mean = jax.jit(lambda totals: totals["loss"] / 2)
totals = collections.defaultdict(float, loss=ones(3))
# -- first
mean({"loss": ones(3)})
# -- second
mean(totals)
# -- fixed second
mean(dict(totals))

# ==== a dataclass defined again in a function
# cause: structure | The pytree structure (treedef) changed: `state` has a new class, also named `State`.
# fix: Define the class `State` once, outside the function that uses it.
import dataclasses

update = jax.jit(lambda state: jax.tree.map(lambda leaf: leaf + 1, state))

def run(w):
    @jax.tree_util.register_dataclass
    @dataclasses.dataclass
    class State:
        w: np.ndarray

    return update(State(w))
# -- first
run(ones(3))
# -- second
# JAX 0.10 at times takes the program of an earlier class, and returns an object of that one.
for _ in range(4):
    run(ones(3))
# -- fixed
import dataclasses

update = jax.jit(lambda state: jax.tree.map(lambda leaf: leaf + 1, state))

@jax.tree_util.register_dataclass
@dataclasses.dataclass
class State:
    w: np.ndarray

def run(w):
    return update(State(w))

# ==== a class of a cell that runs again
# cause: structure | `state` has a new class, also named `State`.
# fix: Define the class `State` once
from typing import NamedTuple

update = jax.jit(lambda state: state.w + 1)
# -- first
class State(NamedTuple):
    w: np.ndarray

update(State(ones(3)))
# -- second
class State(NamedTuple):
    w: np.ndarray

update(State(ones(3)))
# -- fixed
from typing import NamedTuple

update = jax.jit(lambda state: state.w + 1)

class State(NamedTuple):
    w: np.ndarray
# -- fixed first
update(State(ones(3)))
# -- fixed second
update(State(ones(3)))

# ==== an array where a number was
# cause: structure | The pytree structure (treedef) of `x` changed: f32[3] → (*,).
# fix: Keep the treedef fixed
first = jax.jit(lambda x: jax.tree.leaves(x)[0] * 2)
# -- first
first(ones(3))
# -- second
first((ones(3),))
# -- fixed second
first(*(ones(3),))

# ==== a nested dict
# cause: structure | The pytree structure (treedef) of `batch['meta']` changed:
# fix: Keep the treedef fixed
total = jax.jit(lambda batch: sum(leaf.sum() for leaf in jax.tree.leaves(batch)))
# -- first
total({"x": ones(3), "meta": (ones(1), ones(1))})
# -- second
total({"x": ones(3), "meta": [ones(1), ones(1)]})
# -- fixed second
total({"x": ones(3), "meta": tuple([ones(1), ones(1)])})

# ==== None passed where an argument was left out
# cause: call_style | `mask` was left out and is now passed (None)
# fix: Pass `mask` the same way in every call
@jax.jit
def attend(x, mask=None):
    return x if mask is None else jnp.where(mask, x, 0)

# -- first
attend(ones(3))
# -- second
attend(ones(3), None)
# -- fixed second
attend(ones(3))

# ==== an optimizer state of one more layer
# cause: structure | The pytree structure (treedef) changed: `state[0].mu['b']` (and 1 other) was added.
# fix: Keep the treedef fixed
# needs: optax
import optax

norm = jax.jit(lambda state: optax.tree.norm(state))
tx = optax.adam(0.1)
one, other = tx.init({"a": ones(3)}), tx.init({"a": ones(3), "b": ones(2)})
# -- first
norm(one)
# -- second
norm(other)
# -- fixed second
norm(one)
