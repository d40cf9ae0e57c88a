# Static arguments and calling styles.

# ==== a static number
# cause: static_value | The static argument `rate` changed: 0.1 → 0.05.
# fix: Trace `rate`, unless a shape or a Python branch depends on it
@partial(jax.jit, static_argnames="rate")
def step(w, rate):
    return w - rate * w

# -- first
step(ones(3), rate=0.1)
# -- second
step(ones(3), rate=0.05)
# -- fixed
@jax.jit
def step(w, rate):
    return w - rate * w

# ==== a static epoch
# cause: static_value | The static argument `epoch` changed: 1 → 2.
# script: static_value | The static argument `epoch` changed: 0 or 1 → 2.
# fix: Trace `epoch`
@partial(jax.jit, static_argnums=1)
def decay(w, epoch):
    return w * 0.9**epoch

# -- first
for epoch in range(2):
    decay(ones(3), epoch)
# -- second
decay(ones(3), 2)
# -- fixed
@jax.jit
def decay(w, epoch):
    return w * 0.9**epoch

# ==== a static size
# cause: static_value | The static argument `n` changed: 2 → 3.
# fix: otherwise keep to a few values
@partial(jax.jit, static_argnames="n")
def top(x, n):
    return lax.top_k(x, n)

# -- first
top(ones(5), n=2)
# -- second
top(ones(5), n=3)
# -- fixed second
top(ones(5), n=2)

# ==== train and eval by a static flag
# cause: static_value | The static argument `train` changed: True → False.
# fix: otherwise keep to a few values
@partial(jax.jit, static_argnames="train")
def forward(x, train):
    return x * 0.5 if train else x

# -- first
forward(ones(3), train=True)
# -- second
forward(ones(3), train=False)
# -- fixed first
forward(ones(3), train=True)
forward(ones(3), train=False)
# -- fixed second
forward(ones(3), train=True)
forward(ones(3), train=False)

# ==== a static argument that was an int and is a NumPy int
# cause: static_value | The static argument `n` changed: 2 → np.int64(3).
# fix: otherwise keep to a few values
@partial(jax.jit, static_argnames="n")
def head(x, n):
    return x[:n]

# -- first
head(ones(5), n=2)
# -- second
head(ones(5), n=np.int64(3))
# -- fixed second
head(ones(5), n=2)

# ==== a static 1.0 after 1
# cause: static_value | The static argument `power` changed: 1 → 2.0.
# fix: Trace `power`
@partial(jax.jit, static_argnames="power")
def raised(x, power):
    return x**power

# -- first
raised(ones(3), power=1)
# -- second
raised(ones(3), power=2.0)
# -- fixed
@jax.jit
def raised(x, power):
    return x**power
# -- fixed first
raised(ones(3), power=1.0)

# ==== a static tuple of sizes
# cause: static_value | The static argument `shape[1]` changed: 3 → 4.
# fix: otherwise keep to a few values
@partial(jax.jit, static_argnames="shape")
def filled(value, shape):
    return jnp.full(shape, value)

# -- first
filled(1.0, shape=(2, 3))
# -- second
filled(1.0, shape=(2, 4))
# -- fixed second
filled(1.0, shape=(2, 3))

# ==== a static mode
# cause: static_value | The static argument `mode` changed: 'mean' → 'sum'.
# fix: Keep to a few values: each value of `mode` is a program of its own.
@partial(jax.jit, static_argnames="mode")
def reduce(x, mode):
    return getattr(jnp, mode)(x)

# -- first
reduce(ones(3), mode="mean")
# -- second
reduce(ones(3), mode="sum")
# -- fixed second
reduce(ones(3), mode="mean")

# ==== one field of a static configuration
# cause: static_value | The static argument `config.layers` changed: 2 → 3.
# fix: Trace `config.layers`, unless a shape or a Python branch depends on it; otherwise keep to a few values.
import dataclasses

@dataclasses.dataclass(frozen=True)
class Config:
    width: int = 4
    layers: int = 2

@partial(jax.jit, static_argnames="config")
def network(x, config):
    for _ in range(config.layers):
        x = jnp.tanh(x)
    return x

# -- first
network(ones(3), config=Config())
# -- second
network(ones(3), config=Config(layers=3))
# -- fixed second
network(ones(3), config=Config())

# ==== a configuration without __eq__
# cause: static_identity | `Config` defines no `__eq__`, so each object is a new value.
# fix: Define `__eq__` and `__hash__` on `Config`, as `@dataclass(frozen=True)` does
class Config:
    def __init__(self, depth=2):
        self.depth = depth

@partial(jax.jit, static_argnames="config")
def network(x, config):
    return x * config.depth

# -- first
network(ones(3), config=Config())
# -- second
network(ones(3), config=Config())
# -- fixed
import dataclasses

@dataclasses.dataclass(frozen=True)
class Config:
    depth: int = 2

@partial(jax.jit, static_argnames="config")
def network(x, config):
    return x * config.depth

# ==== a static function made anew
# cause: static_identity | The static argument `act` is a different function object
# fix: Define the function once, outside the call: JAX compares functions by identity.
@partial(jax.jit, static_argnames="act")
def layer(x, act):
    return act(x)

# -- first
layer(ones(3), act=lambda x: x * 2)
# -- second
layer(ones(3), act=lambda x: x * 2)
# -- fixed
@partial(jax.jit, static_argnames="act")
def layer(x, act):
    return act(x)

double = lambda x: x * 2
# -- fixed first
layer(ones(3), act=double)
# -- fixed second
layer(ones(3), act=double)

# ==== a static function that a library makes anew
# cause: static_identity | The static argument `init` is a different function object
# fix: Create the function once, and reuse it. Where a library creates it in each call, do more work
@partial(jax.jit, static_argnames="init")
def weights(key, init):
    return init(key, (3, 3))

# -- first
weights(jax.random.key(0), init=jax.nn.initializers.normal(0.1))
# -- second
weights(jax.random.key(0), init=jax.nn.initializers.normal(0.1))
# -- fixed
@partial(jax.jit, static_argnames="init")
def weights(key, init):
    return init(key, (3, 3))

normal = jax.nn.initializers.normal(0.1)
# -- fixed first
weights(jax.random.key(0), init=normal)
# -- fixed second
weights(jax.random.key(0), init=normal)

# ==== another activation
# cause: static_identity | The static argument `act` is a different function object: relu → tanh.
# fix: Keep to a few functions, each defined once
@partial(jax.jit, static_argnames="act")
def layer(x, act):
    return act(x)

# -- first
layer(ones(3), act=jax.nn.relu)
# -- second
layer(ones(3), act=jnp.tanh)
# -- fixed second
layer(ones(3), act=jax.nn.relu)

# ==== a static partial
# cause: static_identity | The static argument `loss` is a different object
# fix: Create the object once, and pass the same one in every call.
def huber(x, delta):
    return jnp.where(jnp.abs(x) < delta, x * x, delta * jnp.abs(x))

@partial(jax.jit, static_argnames="loss")
def evaluate(x, loss):
    return loss(x).sum()

# -- first
evaluate(ones(3), loss=partial(huber, delta=1.0))
# -- second
evaluate(ones(3), loss=partial(huber, delta=1.0))
# -- fixed
def huber(x, delta):
    return jnp.where(jnp.abs(x) < delta, x * x, delta * jnp.abs(x))

@partial(jax.jit, static_argnames="loss")
def evaluate(x, loss):
    return loss(x).sum()

loss = partial(huber, delta=1.0)
# -- fixed first
evaluate(ones(3), loss=loss)
# -- fixed second
evaluate(ones(3), loss=loss)

# ==== a jitted method of a new object
# cause: static_identity | The static argument `self` is a different object
# fix: or create the object once.
class Model:
    def __init__(self, scale):
        self.scale = scale

    @partial(jax.jit, static_argnums=0)
    def forward(self, x):
        return x * self.scale

# -- first
Model(2.0).forward(ones(3))
# -- second
Model(2.0).forward(ones(3))
# -- fixed
class Model:
    def __init__(self, scale):
        self.scale = scale

    @partial(jax.jit, static_argnums=0)
    def forward(self, x):
        return x * self.scale

model = Model(2.0)
# -- fixed first
model.forward(ones(3))
# -- fixed second
model.forward(ones(3))

# ==== an enum as a static argument
# cause: static_value | The static argument `mode` changed: Mode.TRAIN → Mode.EVAL.
# fix: Keep to a few values
import enum

class Mode(enum.Enum):
    TRAIN = 1
    EVAL = 2

@partial(jax.jit, static_argnames="mode")
def forward(x, mode):
    return x * 2 if mode is Mode.TRAIN else x

# -- first
forward(ones(3), mode=Mode.TRAIN)
# -- second
forward(ones(3), mode=Mode.EVAL)
# -- fixed second
forward(ones(3), mode=Mode.TRAIN)

# ==== by keyword after by position
# cause: call_style | `y` was passed by position and is now passed by keyword
# fix: Pass `y` the same way in every call
@jax.jit
def add(x, y):
    return x + y

# -- first
add(ones(3), ones(3))
# -- second
add(ones(3), y=ones(3))
# -- fixed second
add(ones(3), ones(3))

# ==== a default value, then the same passed
# cause: call_style | `scale` was left out and is now passed (float), which is a different cache key.
# fix: Pass `scale` the same way in every call
@jax.jit
def rescale(x, scale=2.0):
    return x * scale

# -- first
rescale(ones(3))
# -- second
rescale(ones(3), 2.0)
# -- fixed second
rescale(ones(3))

# ==== a static default, then the same passed
# cause: call_style | `n` was left out and is now passed (2)
# fix: Pass `n` the same way in every call
@partial(jax.jit, static_argnames="n")
def repeat(x, n=2):
    return jnp.tile(x, n)

# -- first
repeat(ones(3))
# -- second
repeat(ones(3), n=2)
# -- fixed second
repeat(ones(3))

# ==== a static default, then another value passed
# cause: static_value | The static argument `n` changed: 2 → 3.
# fix: otherwise keep to a few values
@partial(jax.jit, static_argnums=1)
def repeat(x, n=2):
    return jnp.tile(x, n)

# -- first
repeat(ones(3))
# -- second
repeat(ones(3), 3)
# -- fixed second
repeat(ones(3))

# ==== another static value, then its default
# cause: static_value | The static argument `n` changed: 3 → 2.
# fix: otherwise keep to a few values
@partial(jax.jit, static_argnames="n")
def repeat(x, n=2):
    return jnp.tile(x, n)

# -- first
repeat(ones(3), n=3)
# -- second
repeat(ones(3))
# -- fixed second
repeat(ones(3), n=3)

# ==== another keyword argument
# cause: structure | The pytree structure (treedef) of the arguments changed: `bias` left out → f32[3].
# fix: Keep the treedef fixed
@jax.jit
def combine(**terms):
    return sum(terms.values())

# -- first
combine(w=ones(3))
# -- second
combine(w=ones(3), bias=ones(3))
# -- fixed first
combine(w=ones(3), bias=np.zeros(3, np.float32))

# ==== one more starred argument
# cause: structure | The pytree structure (treedef) of the arguments changed: `arrays[2]` left out → f32[3].
# fix: Keep the treedef fixed
@jax.jit
def total(*arrays):
    return sum(arrays)

# -- first
total(ones(3), ones(3))
# -- second
total(ones(3), ones(3), ones(3))
# -- fixed first
total(ones(3), ones(3), np.zeros(3, np.float32))

# ==== a field of a frozen model that is static
# cause: static_value | The static argument `self.rate` changed: 0.1 → 0.2.
# fix: Trace `self.rate`
import dataclasses

@dataclasses.dataclass(frozen=True)
class Sgd:
    rate: float

    @partial(jax.jit, static_argnums=0)
    def step(self, w):
        return w - self.rate * w

# -- first
Sgd(0.1).step(ones(3))
# -- second
Sgd(0.2).step(ones(3))
# -- fixed
class Sgd:
    @partial(jax.jit, static_argnums=0)
    def step(self, w, rate):
        return w - rate * w

sgd = Sgd()
# -- fixed first
sgd.step(ones(3), 0.1)
# -- fixed second
sgd.step(ones(3), 0.2)

# ==== NaN as a static argument
# cause: static_value | The static argument `fill` changed: now a different `nan`.
# fix: Trace `fill`
@partial(jax.jit, static_argnames="fill")
def padded(x, fill):
    return jnp.pad(x, 1, constant_values=fill)

# -- first
padded(ones(3), fill=float("nan"))
# -- second
padded(ones(3), fill=float("nan"))
# -- fixed
@jax.jit
def padded(x, fill):
    return jnp.pad(x, 1, constant_values=fill)

# ==== a dtype as a static argument
# cause: static_value | The static argument `dtype` changed: float32 → float16.
# fix: Keep to a few values
@partial(jax.jit, static_argnames="dtype")
def cast(x, dtype):
    return x.astype(dtype)

# -- first
cast(ones(3), dtype=np.dtype("float32"))
# -- second
cast(ones(3), dtype=np.dtype("float16"))
# -- fixed second
cast(ones(3), dtype=np.dtype("float32"))

# ==== a dtype in another spelling
# cause: static_value | The static argument `dtype` changed:
# fix: Keep to a few values: each value of `dtype` is a program of its own.
@partial(jax.jit, static_argnames="dtype")
def cast(x, dtype):
    return x.astype(dtype)

# -- first
cast(ones(3), dtype=jnp.float32)
# -- second
cast(ones(3), dtype="float32")
# -- fixed second
cast(ones(3), dtype=jnp.float32)

# ==== a static tuple that grows
# cause: static_value | The static argument `axes` changed: (0,) → (0, 1).
# fix: otherwise keep to a few values
@partial(jax.jit, static_argnames="axes")
def total(x, axes):
    return x.sum(axes)

# -- first
total(ones(3, 3), axes=(0,))
# -- second
total(ones(3, 3), axes=(0, 1))
# -- fixed second
total(ones(3, 3), axes=(0,))

# ==== a bound method as a static argument
# cause: static_identity | The static argument `act`
# fix: once
class Acts:
    def relu(self, x):
        return jnp.maximum(x, 0)

@partial(jax.jit, static_argnames="act")
def layer(x, act):
    return act(x)

# -- first
layer(ones(3), act=Acts().relu)
# -- second
layer(ones(3), act=Acts().relu)
# -- fixed
class Acts:
    def relu(self, x):
        return jnp.maximum(x, 0)

@partial(jax.jit, static_argnames="act")
def layer(x, act):
    return act(x)

act = Acts().relu
# -- fixed first
layer(ones(3), act=act)
# -- fixed second
layer(ones(3), act=act)

# ==== a static argument in a dict of options
# cause: static_value | The static argument `options.rate` changed: 0.1 → 0.2.
# fix: otherwise keep to a few values
from typing import NamedTuple

class Options(NamedTuple):
    rate: float
    steps: int = 3

@partial(jax.jit, static_argnames="options")
def train(w, options):
    return w * options.rate**options.steps

# -- first
train(ones(3), options=Options(0.1))
# -- second
train(ones(3), options=Options(0.2))
# -- fixed second
train(ones(3), options=Options(0.1))
