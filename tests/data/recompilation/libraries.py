# Optax, Equinox, Flax and Haiku.

# ==== an Optax optimizer rebuilt with another rate
# cause: new_function | `step` at
# fix: Create `tx` inside the jitted function, from values that are arguments.
# needs: optax
import optax

def make_step(rate):
    tx = optax.sgd(rate)

    @jax.jit
    def step(w, g):
        updates, _ = tx.update(g, tx.init(w), w)
        return optax.apply_updates(w, updates)

    return step

slow, fast = make_step(0.1), make_step(0.2)
# -- first
slow(ones(3), ones(3))
# -- second
fast(ones(3), ones(3))
# -- fixed
import optax

@jax.jit
def step(w, g, rate):
    tx = optax.sgd(rate)
    updates, _ = tx.update(g, tx.init(w), w)
    return optax.apply_updates(w, updates)
# -- fixed first
step(ones(3), ones(3), 0.1)
# -- fixed second
step(ones(3), ones(3), 0.2)

# ==== an optimizer as a static argument, made again
# cause: static_identity | The static part `tx.init` is a different function object: `init_fn`.
# fix: Create `tx` once and reuse it: JAX compares `tx.init` by identity.
# needs: optax
import optax

@partial(jax.jit, static_argnames="tx")
def step(w, g, tx):
    updates, _ = tx.update(g, tx.init(w), w)
    return optax.apply_updates(w, updates)

# -- first
step(ones(3), ones(3), tx=optax.adam(0.1))
# -- second
step(ones(3), ones(3), tx=optax.adam(0.1))
# -- fixed
import optax

@partial(jax.jit, static_argnames="tx")
def step(w, g, tx):
    updates, _ = tx.update(g, tx.init(w), w)
    return optax.apply_updates(w, updates)

tx = optax.adam(0.1)
# -- fixed first
step(ones(3), ones(3), tx=tx)
# -- fixed second
step(ones(3), ones(3), tx=tx)

# ==== the state of another optimizer
# cause: structure | The pytree structure (treedef) of `state[0]` changed:
# fix: Keep the treedef fixed: the same containers
# needs: optax
import optax

@jax.jit
def size(state):
    return sum((leaf**2).sum() for leaf in jax.tree.leaves(state))

one, other = optax.sgd(0.1, momentum=0.9).init(ones(3)), optax.adam(0.1).init(ones(3))
# -- first
size(one)
# -- second
size(other)
# -- fixed second
size(one)

# ==== momentum switched on
# cause: structure | The pytree structure (treedef)
# fix: Keep the treedef fixed
# needs: optax
import optax

@jax.jit
def size(state):
    return sum((leaf**2).sum() for leaf in jax.tree.leaves(state)) + 0.0

one, other = optax.sgd(0.1).init(ones(3)), optax.sgd(0.1, momentum=0.9).init(ones(3))
# -- first
size(one)
# -- second
size(other)
# -- fixed
import optax

@jax.jit
def size(state):
    return sum((leaf**2).sum() for leaf in jax.tree.leaves(state)) + 0.0

one, other = optax.sgd(0.1, momentum=0.0).init(ones(3)), optax.sgd(0.1, momentum=0.9).init(ones(3))

# ==== a TrainState made again
# cause: static_identity | The static part `state.tx.init` is a different function object: `init_fn`.
# fix: Create `state.tx` once and reuse it
# needs: flax optax
import optax
from flax.training import train_state

def apply(params, x):
    return params["w"] * x

def create():
    return train_state.TrainState.create(apply_fn=apply, params={"w": ones(3)}, tx=optax.adam(0.1))

forward = jax.jit(lambda state, x: state.apply_fn(state.params, x))
one, other = create(), create()
# -- first
forward(one, ones(3))
# -- second
forward(other, ones(3))
# -- fixed
import optax
from flax.training import train_state

tx = optax.adam(0.1)

def apply(params, x):
    return params["w"] * x

def create():
    return train_state.TrainState.create(apply_fn=apply, params={"w": ones(3)}, tx=tx)

forward = jax.jit(lambda state, x: state.apply_fn(state.params, x))
one, other = create(), create()

# ==== a TrainState of an edited linen module
# cause: structure | `state.params['b0']['bias']` (and 3 others) was added.
# cause: static_value | The static field `state.apply_fn` changed: now a different `Net`.
# fix: Create `state.apply_fn` once and reuse it, or keep to a few values
# needs: flax optax
import flax.linen as nn
import optax
from flax.training import train_state

class Net(nn.Module):
    @nn.compact
    def __call__(self, x):
        return nn.Dense(2)(x)

class Wider(nn.Module):
    @nn.compact
    def __call__(self, x):
        return nn.Dense(2, name="b1")(nn.Dense(2, name="b0")(x))

Wider.__name__ = Wider.__qualname__ = "Net"
tx = optax.sgd(0.1)

def state_of(net):
    params = net.init(jax.random.key(0), jnp.ones(3))["params"]
    return train_state.TrainState.create(apply_fn=net.apply, params=params, tx=tx)

forward = jax.jit(lambda state, x: state.apply_fn({"params": state.params}, x))
net = Net()
first, edited = state_of(net), state_of(Wider())
# -- first
forward(first, ones(3))
# -- second
forward(edited, ones(3))
# -- fixed second
forward(state_of(net), ones(3))

# ==== a TrainState with a schedule of another rate
# cause: static_value | changed: -0.1 → -0.2.
# fix: Create `state.tx` once and reuse it: JAX compares
# needs: flax optax
import optax
from flax.training import train_state

def apply(params, x):
    return params["w"] * x

def create(rate):
    return train_state.TrainState.create(apply_fn=apply, params={"w": ones(3)}, tx=optax.sgd(rate))

forward = jax.jit(lambda state, x: state.apply_fn(state.params, x))
one, other = create(0.1), create(0.2)
# -- first
forward(one, ones(3))
# -- second
forward(other, ones(3))
# -- fixed
import optax
from flax.training import train_state

tx = optax.inject_hyperparams(optax.sgd)(0.1)

def apply(params, x):
    return params["w"] * x

def create(rate):
    return train_state.TrainState.create(apply_fn=apply, params={"w": ones(3)}, tx=tx)

forward = jax.jit(lambda state, x: state.apply_fn(state.params, x))
one, other = create(0.1), create(0.2)

# ==== the step of a TrainState after a restart
# cause: weak_type | `state.step` changed between a weakly and a strongly typed i32: Python int → jax.Array.
# script: weak_type | `state.step` changed between a weakly and a strongly typed i32: weakly typed value → jax.Array.
# fix: `jnp.asarray(value, jnp.int32)`
# needs: flax optax
import optax
from flax.training import train_state

tx = optax.sgd(0.1)
state = train_state.TrainState.create(apply_fn=None, params={"w": ones(3)}, tx=tx)
restored = state.replace(step=jnp.asarray(5, jnp.int32))

@jax.jit
def train(state):
    return state.apply_gradients(grads=state.params)

# -- first
train(state)
# -- second
train(restored)
# -- fixed
import optax
from flax.training import train_state

tx = optax.sgd(0.1)
state = train_state.TrainState.create(apply_fn=None, params={"w": ones(3)}, tx=tx)
state = state.replace(step=jnp.asarray(0, jnp.int32))
restored = state.replace(step=jnp.asarray(5, jnp.int32))

@jax.jit
def train(state):
    return state.apply_gradients(grads=state.params)

# ==== the second step of a new TrainState
# cause: weak_type | `state.step` changed between a weakly and a strongly typed i32: Python int → jax.Array.
# script: weak_type | `state.step` changed between a weakly and a strongly typed i32: weakly typed value → jax.Array.
# fix: `jnp.asarray(value, jnp.int32)`
# needs: flax optax
import optax
from flax.training import train_state

state = train_state.TrainState.create(apply_fn=None, params={"w": ones(3)}, tx=optax.sgd(0.1))

@jax.jit
def train(state):
    return state.apply_gradients(grads=state.params)

state = train(state)
# -- first
state = train(state)
# -- second
train(state.replace(step=jnp.asarray(3, jnp.int32)))
# -- fixed
import optax
from flax.training import train_state

state = train_state.TrainState.create(apply_fn=None, params={"w": ones(3)}, tx=optax.sgd(0.1))
state = state.replace(step=jnp.asarray(0, jnp.int32))

@jax.jit
def train(state):
    return state.apply_gradients(grads=state.params)

state = train(state)

# ==== a linen module as a static argument with another width
# cause: static_value | The static argument `model.features` changed: 3 → 4.
# fix: otherwise keep to a few values
# needs: flax
import flax.linen as nn

@partial(jax.jit, static_argnames="model")
def init(key, model):
    return model.init(key, ones(2))

key = jax.random.key(0)
# -- first
init(key, model=nn.Dense(3))
# -- second
init(key, model=nn.Dense(4))
# -- fixed second
init(key, model=nn.Dense(3))

# ==== a linen module called with another flag
# cause: static_value | The static argument `train` changed: True → False.
# fix: otherwise keep to a few values
# needs: flax
import flax.linen as nn

class Net(nn.Module):
    @nn.compact
    def __call__(self, x, train):
        return nn.Dropout(0.5, deterministic=not train)(x)

net = Net()

@partial(jax.jit, static_argnames="train")
def forward(x, key, train):
    return net.apply({}, x, train, rngs={"dropout": key})

key = jax.random.key(0)
# -- first
forward(ones(4), key, train=True)
# -- second
forward(ones(4), key, train=False)
# -- fixed second
forward(ones(4), key, train=True)

# ==== jit of the apply of a new linen module
# cause: new_function | `apply` is a method of a new `Dense` object
# fix: Create the object once, and jit its `
# needs: flax
import flax.linen as nn

params = {"params": {"kernel": ones(3, 2), "bias": ones(2)}}
# -- first
jax.jit(nn.Dense(2).apply)(params, ones(3))
# -- second
jax.jit(nn.Dense(2).apply)(params, ones(3))
# -- fixed
import flax.linen as nn

params = {"params": {"kernel": ones(3, 2), "bias": ones(2)}}
apply = jax.jit(nn.Dense(2).apply)
# -- fixed first
apply(params, ones(3))
# -- fixed second
apply(params, ones(3))

# ==== eval of an nnx model
# cause: static_value | The static field `model.deterministic` changed: False → True.
# fix: Keep to a few values: each value of `model.deterministic` is a program
# needs: flax
from flax import nnx

model = nnx.Dropout(0.5, rngs=nnx.Rngs(0))

@nnx.jit
def forward(model, x):
    return model(x)

# -- first
forward(model, ones(3))
# -- second
model.eval()
forward(model, ones(3))
# -- fixed second
forward(model, ones(3))

# ==== an attribute of an nnx model
# cause: static_value | The static field `model.scale` changed: 2.0 → 3.0.
# fix: Make `model.scale` a data field
# needs: flax
from flax import nnx

class Scale(nnx.Module):
    def __init__(self, scale):
        self.scale = scale

    def __call__(self, x):
        return self.scale * x

@nnx.jit
def forward(model, x):
    return model(x)

# -- first
forward(Scale(2.0), ones(3))
# -- second
forward(Scale(3.0), ones(3))
# -- fixed
from flax import nnx

class Scale(nnx.Module):
    def __init__(self, scale):
        self.scale = nnx.Variable(jnp.asarray(scale))

    def __call__(self, x):
        return self.scale * x

@nnx.jit
def forward(model, x):
    return model(x)

# ==== an nnx model on a smaller batch
# cause: shape | The shape of `x` changed: f32[8,3] → f32[5,3] (axis 0).
# fix: Pad `x` to a few fixed sizes
# needs: flax
from flax import nnx

model = nnx.Linear(3, 2, rngs=nnx.Rngs(0))

@nnx.jit
def forward(model, x):
    return model(x)

# -- first
forward(model, ones(8, 3))
# -- second
forward(model, ones(5, 3))
# -- fixed second
forward(model, np.pad(ones(5, 3), ((0, 3), (0, 0))))

# ==== nnx.jit in a loop
# cause: new_function | is a new function object
# fix: Define and jit it once
# needs: flax
from flax import nnx

model = nnx.Linear(3, 2, rngs=nnx.Rngs(0))

def predict(model, x):
    return nnx.jit(lambda model, x: model(x))(model, x)

# -- first
predict(model, ones(3))
# -- second
predict(model, ones(3))
# -- fixed
from flax import nnx

model = nnx.Linear(3, 2, rngs=nnx.Rngs(0))
forward = nnx.jit(lambda model, x: model(x))

def predict(model, x):
    return forward(model, x)

# ==== a float under filter_jit
# cause: static_value | `rate`, static because it is not an array, changed: 0.1 → 0.2.
# fix: Pass an array for `rate` in every call, such as `jnp.asarray(0.2)`
# needs: equinox
import equinox as eqx

@eqx.filter_jit
def step(model, rate):
    return jax.tree.map(lambda p: p - rate * p, model)

model = {"w": jnp.ones(3)}
# -- first
step(model, 0.1)
# -- second
step(model, 0.2)
# -- fixed first
step(model, jnp.asarray(0.1))
# -- fixed second
step(model, jnp.asarray(0.2))

# ==== the count of a loop under filter_jit
# cause: static_value | `i`, static because it is not an array, changed: 1 → 2.
# script: static_value | `i`, static because it is not an array, changed: 0 or 1 → 2.
# fix: Pass an array for `i` in every call, such as `jnp.asarray(2)`
# needs: equinox
import equinox as eqx

@eqx.filter_jit
def step(w, i):
    return w / (1 + i)

w = jnp.ones(3)
# -- first
for i in range(2):
    step(w, i)
# -- second
step(w, 2)
# -- fixed first
for i in range(2):
    step(w, jnp.asarray(i))
# -- fixed second
step(w, jnp.asarray(2))

# ==== a static field of an Equinox module
# cause: static_value | The static field `layer.rate` changed: 0.1 → 0.2.
# fix: Make `layer.rate` a data field
# needs: equinox
import equinox as eqx

class Layer(eqx.Module):
    w: jax.Array
    rate: float = eqx.field(static=True)

forward = jax.jit(lambda layer, x: layer.w * x * layer.rate)
w = jnp.ones(3)
# -- first
forward(Layer(w, 0.1), ones(3))
# -- second
forward(Layer(w, 0.2), ones(3))
# -- fixed
import equinox as eqx

class Layer(eqx.Module):
    w: jax.Array
    rate: float

forward = jax.jit(lambda layer, x: layer.w * x * layer.rate)
w = jnp.ones(3)

# ==== inference mode of an Equinox module
# cause: static_value | changed: False → True.
# fix: unless a shape or a Python branch depends on it
# needs: equinox
import equinox as eqx

model = eqx.nn.Dropout(0.5)
quiet = eqx.nn.inference_mode(model)

@eqx.filter_jit
def forward(model, x, key):
    return model(x, key=key)

key, x = jax.random.key(0), jnp.ones(3)
# -- first
forward(model, x, key)
# -- second
forward(quiet, x, key)
# -- fixed second
forward(model, x, key)

# ==== an Equinox activation made anew
# cause: static_identity | is a different function object: `<lambda>`.
# fix: once and reuse it
# needs: equinox
import equinox as eqx

class Layer(eqx.Module):
    w: jax.Array
    act: object = eqx.field(static=True)

forward = jax.jit(lambda layer, x: layer.act(layer.w * x))
w = jnp.ones(3)

def make():
    return Layer(w, lambda x: x * 2)

# -- first
forward(make(), ones(3))
# -- second
forward(make(), ones(3))
# -- fixed
import equinox as eqx

class Layer(eqx.Module):
    w: jax.Array
    act: object = eqx.field(static=True)

forward = jax.jit(lambda layer, x: layer.act(layer.w * x))
w = jnp.ones(3)
act = lambda x: x * 2

def make():
    return Layer(w, act)

# ==== filter_jit of a new function
# cause: new_function | is a new function object
# fix: Define and jit it once
# needs: equinox
import equinox as eqx

x = jnp.ones(3)

def run(x):
    return eqx.filter_jit(lambda x: x * 2)(x)

# -- first
run(x)
# -- second
run(x)
# -- fixed
import equinox as eqx

x = jnp.ones(3)
double = eqx.filter_jit(lambda x: x * 2)

def run(x):
    return double(x)

# ==== an Equinox model of another width
# cause: static_value | The static field `model.out_features` changed: 2 → 4.
# fix: otherwise keep to a few values
# needs: equinox
import equinox as eqx

one, other = (eqx.nn.Linear(3, n, use_bias=False, key=jax.random.key(0)) for n in (2, 4))
forward = jax.jit(lambda model, x: model.weight @ x)
# -- first
forward(one, ones(3))
# -- second
forward(other, ones(3))
# -- fixed second
forward(one, ones(3))

# ==== a Haiku transform made again
# cause: new_function | `apply_fn` at
# fix: Define and jit it once
# needs: haiku
import haiku as hk

params = {"linear": {"w": ones(3, 2), "b": ones(2)}}

def predict(params, x):
    net = hk.without_apply_rng(hk.transform(lambda x: hk.Linear(2)(x)))
    return jax.jit(net.apply)(params, x)

# -- first
predict(params, ones(3))
# -- second
predict(params, ones(3))
# -- fixed
import haiku as hk

params = {"linear": {"w": ones(3, 2), "b": ones(2)}}
net = hk.without_apply_rng(hk.transform(lambda x: hk.Linear(2)(x)))
apply = jax.jit(net.apply)

def predict(params, x):
    return apply(params, x)

# ==== a Haiku network with a static flag
# cause: static_value | The static argument `train` changed: True → False.
# fix: otherwise keep to a few values
# needs: haiku
import haiku as hk

net = hk.transform(lambda x, train: hk.dropout(hk.next_rng_key(), 0.5, x) if train else x)

@partial(jax.jit, static_argnames="train")
def forward(key, x, train):
    return net.apply({}, key, x, train)

key = jax.random.key(0)
# -- first
forward(key, ones(3), train=True)
# -- second
forward(key, ones(3), train=False)
# -- fixed second
forward(key, ones(3), train=True)

# ==== Equinox filter_grad on a smaller batch
# cause: shape | The shape of `x` changed: f32[8,3] → f32[5,3] (axis 0).
# fix: Pad `x` to a few fixed sizes
# needs: equinox
import equinox as eqx

model = eqx.nn.Linear(3, 1, use_bias=False, key=jax.random.key(0))

@eqx.filter_jit
@eqx.filter_value_and_grad
def loss(model, x):
    return (jax.vmap(model)(x) ** 2).mean()

a, b = jnp.ones((8, 3)), jnp.ones((5, 3))
padded = jnp.asarray(np.pad(b, ((0, 3), (0, 0))))
# -- first
loss(model, a)
# -- second
loss(model, b)
# -- fixed second
loss(model, padded)

# ==== a dropout rate of a linen module in a closure
# cause: new_function | has the code of an earlier function, but is a new function object
# fix: Define and jit it once
# needs: flax
import flax.linen as nn

def build(rate):
    model = nn.Dropout(rate, deterministic=False)
    return jax.jit(lambda x, key: model.apply({}, x, rngs={"dropout": key}))

def forward(rate, x, key):
    return build(rate)(x, key)

key = jax.random.key(0)
# -- first
forward(0.1, ones(3), key)
# -- second
forward(0.1, ones(3), key)
# -- fixed
import flax.linen as nn

model = nn.Dropout(0.1, deterministic=False)
apply = jax.jit(lambda x, key: model.apply({}, x, rngs={"dropout": key}))

def forward(rate, x, key):
    return apply(x, key)

key = jax.random.key(0)

# ==== nnx with a new optimizer
# cause: static_identity | is a different function object
# fix: once and reuse it
# needs: flax optax
import optax
from flax import nnx

model = nnx.Linear(2, 1, rngs=nnx.Rngs(0))

@nnx.jit
def step(model, optimizer, x):
    grads = nnx.grad(lambda model: (model(x) ** 2).sum())(model)
    optimizer.update(model, grads)

one, other = (nnx.Optimizer(model, optax.sgd(0.1), wrt=nnx.Param) for _ in range(2))
# -- first
step(model, one, ones(1, 2))
# -- second
step(model, other, ones(1, 2))
# -- fixed
import optax
from flax import nnx

model = nnx.Linear(2, 1, rngs=nnx.Rngs(0))
tx = optax.sgd(0.1)

@nnx.jit
def step(model, optimizer, x):
    grads = nnx.grad(lambda model: (model(x) ** 2).sum())(model)
    optimizer.update(model, grads)

one, other = (nnx.Optimizer(model, tx, wrt=nnx.Param) for _ in range(2))

# ==== an Optax rate as a hyperparameter, then as a Python float
# cause: weak_type | changed between a weakly and a strongly typed f32: jax.Array → Python float.
# script: weak_type | `state.hyperparams['learning_rate']` changed between a weakly and a strongly typed f32: value → Python float.
# fix: `jnp.asarray(value, jnp.float32)`
# needs: optax
import optax

tx = optax.inject_hyperparams(optax.sgd)(learning_rate=0.1)

@jax.jit
def step(w, state):
    updates, state = tx.update(w, state, w)
    return optax.apply_updates(w, updates), state

w, state = jnp.ones(3), tx.init(jnp.ones(3))
# -- first
w, state = step(w, state)
# -- second
state.hyperparams["learning_rate"] = 0.05
step(w, state)
# -- fixed second
state.hyperparams["learning_rate"] = jnp.asarray(0.05, jnp.float32)
step(w, state)
