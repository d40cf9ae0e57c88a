# Functions that are created again.

# ==== jit of a lambda in a loop
# cause: new_function | is a new function object; JAX caches programs by function identity.
# fix: Define and jit it once, outside the loop or the enclosing function, and pass what varies as arguments.
def scaled(x, scale):
    return jax.jit(lambda x: x * scale)(x)

# -- first
scaled(ones(3), 2.0)
# -- second
scaled(ones(3), 3.0)
# -- fixed
multiply = jax.jit(lambda x, scale: x * scale)

def scaled(x, scale):
    return multiply(x, scale)

# ==== a jitted function inside a function
# cause: new_function | `step` at
# fix: Define and jit it once, outside the loop or the enclosing function
def train(w):
    @jax.jit
    def step(w):
        return w - 0.1 * w

    for _ in range(3):
        w = step(w)
    return w

# -- first
train(ones(3))
# -- second
train(ones(3))
# -- fixed
@jax.jit
def step(w):
    return w - 0.1 * w

def train(w):
    for _ in range(3):
        w = step(w)
    return w

# ==== a partial in a loop
# cause: new_function | `update` is wrapped in a new `functools.partial`
# fix: Create the partial once, or pass its bound values as arguments of the jitted function.
def update(rate, w):
    return w - rate * w

def run(w, rate):
    return jax.jit(partial(update, rate))(w)

# -- first
run(ones(3), 0.1)
# -- second
run(ones(3), 0.2)
# -- fixed
@jax.jit
def update(rate, w):
    return w - rate * w

def run(w, rate):
    return update(rate, w)

# ==== a partial with keywords
# cause: new_function | `update` is wrapped in a new `functools.partial`
# fix: Create the partial once
def update(w, rate):
    return w - rate * w

def run(w):
    return jax.jit(partial(update, rate=0.1))(w)

# -- first
run(ones(3))
# -- second
run(ones(3))
# -- fixed
def update(w, rate):
    return w - rate * w

held = jax.jit(partial(update, rate=0.1))

def run(w):
    return held(w)

# ==== jit of grad in a loop
# cause: new_function | `jax.grad(loss)` is a new function: each call of `jax.grad` returns one.
# fix: Create it once, outside the loop: `g = jax.jit(jax.grad(loss))`.
def loss(w):
    return (w**2).sum()

def step(w):
    return w - 0.1 * jax.jit(jax.grad(loss))(w)

w = ones(3)
# -- first
w = np.asarray(step(w))
# -- second
jax.jit(jax.grad(loss))(w)
# -- fixed
def loss(w):
    return (w**2).sum()

g = jax.jit(jax.grad(loss))
w = ones(3)
# -- fixed first
w = np.asarray(g(w))
# -- fixed second
g(w)

# ==== jit of value_and_grad in a loop
# cause: new_function | `jax.value_and_grad(loss)` is a new function
# fix: `g = jax.jit(jax.value_and_grad(loss))`
def loss(w):
    return (w**2).sum()

# -- first
jax.jit(jax.value_and_grad(loss))(ones(3))
# -- second
jax.jit(jax.value_and_grad(loss))(ones(3))
# -- fixed
def loss(w):
    return (w**2).sum()

g = jax.jit(jax.value_and_grad(loss))
# -- fixed first
g(ones(3))
# -- fixed second
g(ones(3))

# ==== jit of vmap in a loop
# cause: new_function | `jax.vmap(norm)` is a new function: each call of `jax.vmap` returns one.
# fix: `g = jax.jit(jax.vmap(norm))`
def norm(x):
    return jnp.sqrt((x * x).sum())

# -- first
jax.jit(jax.vmap(norm))(ones(4, 3))
# -- second
jax.jit(jax.vmap(norm))(ones(4, 3))
# -- fixed
def norm(x):
    return jnp.sqrt((x * x).sum())

g = jax.jit(jax.vmap(norm))
# -- fixed first
g(ones(4, 3))
# -- fixed second
g(ones(4, 3))

# ==== jit of checkpoint in a loop
# cause: new_function | `jax.checkpoint(block)` is a new function
# fix: `g = jax.jit(jax.checkpoint(block))`
def block(x):
    return jnp.tanh(x) * 2

# -- first
jax.jit(jax.checkpoint(block))(ones(3))
# -- second
jax.jit(jax.checkpoint(block))(ones(3))
# -- fixed
def block(x):
    return jnp.tanh(x) * 2

g = jax.jit(jax.checkpoint(block))
# -- fixed first
g(ones(3))
# -- fixed second
g(ones(3))

# ==== per-example gradients in a loop
# cause: new_function | `jax.vmap(jax.grad(loss))` is a new function
# fix: `g = jax.jit(jax.vmap(jax.grad(loss)))`
def loss(w):
    return (w**2).sum()

# -- first
jax.jit(jax.vmap(jax.grad(loss)))(ones(4, 3))
# -- second
jax.jit(jax.vmap(jax.grad(loss)))(ones(4, 3))
# -- fixed
def loss(w):
    return (w**2).sum()

g = jax.jit(jax.vmap(jax.grad(loss)))
# -- fixed first
g(ones(4, 3))
# -- fixed second
g(ones(4, 3))

# ==== jit of a bound method
# cause: new_function | `forward` is a new bound method: Python creates one per attribute access.
# fix: or `self.forward = jax.jit(self.forward)` in `__init__`.
class Model:
    def __init__(self):
        self.w = ones(3)

    def forward(self, x):
        return self.w * x

model = Model()
# -- first
jax.jit(model.forward)(ones(3))
# -- second
jax.jit(model.forward)(ones(3))
# -- fixed
class Model:
    def __init__(self):
        self.w = ones(3)
        self.forward = jax.jit(self.forward)

    def forward(self, x):
        return self.w * x

model = Model()
# -- fixed first
model.forward(ones(3))
# -- fixed second
model.forward(ones(3))

# ==== a method jitted in __init__ of a new object
# cause: new_function | `_forward` is a method of a new `Model` object
# fix: Create the object once, and jit its `
class Model:
    def __init__(self):
        self.forward = jax.jit(self._forward)

    def _forward(self, x):
        return 2 * x

# -- first
Model().forward(ones(3))
# -- second
Model().forward(ones(3))
# -- fixed
class Model:
    def __init__(self):
        self.forward = jax.jit(self._forward)

    def _forward(self, x):
        return 2 * x

model = Model()
# -- fixed first
model.forward(ones(3))
# -- fixed second
model.forward(ones(3))

# ==== a callable object made anew
# cause: new_function | The jitted callable is a new `Scale` object
# fix: Create the object once and jit it once.
class Scale:
    def __init__(self, factor):
        self.factor = factor

    def __call__(self, x):
        return self.factor * x

# -- first
jax.jit(Scale(2))(ones(3))
# -- second
jax.jit(Scale(2))(ones(3))
# -- fixed
class Scale:
    def __init__(self, factor):
        self.factor = factor

    def __call__(self, x):
        return self.factor * x

scale = jax.jit(Scale(2))
# -- fixed first
scale(ones(3))
# -- fixed second
scale(ones(3))

# ==== a cell with a def run again
# cause: redefined | `shifted` was redefined with the same code
# fix: Keep the definition in its own cell, and rerun only the cell that calls it.
# -- first
@jax.jit
def shifted(x):
    return x + 1

shifted(ones(3))
# -- second
@jax.jit
def shifted(x):
    return x + 1

shifted(ones(3))
# -- fixed
@jax.jit
def shifted(x):
    return x + 1
# -- fixed first
shifted(ones(3))
# -- fixed second
shifted(ones(3))

# ==== edited code
# cause: redefined | The code of `shifted` changed.
# -- first
@jax.jit
def shifted(x):
    return x + 1

shifted(ones(3))
# -- second
@jax.jit
def shifted(x):
    return x + 2

shifted(ones(3))

# ==== a training step rebuilt with another rate
# cause: new_function | `step` at
# fix: Pass `rate` as an argument, so that every value uses the same program.
def make_step(rate):
    @jax.jit
    def step(w):
        return w - rate * w

    return step

slow, fast = make_step(0.1), make_step(0.2)
# -- first
slow(ones(3))
# -- second
fast(ones(3))
# -- fixed
@jax.jit
def step(w, rate):
    return w - rate * w
# -- fixed first
step(ones(3), 0.1)
# -- fixed second
step(ones(3), 0.2)

# ==== a training step rebuilt with another rate in a dict
# cause: new_function | `step` at
# fix: Pass `config['rate']` as an argument, so that every value uses the same program.
def make_step(config):
    @jax.jit
    def step(w):
        return w - config["rate"] * w

    return step

slow, fast = make_step({"rate": 0.1}), make_step({"rate": 0.2})
# -- first
slow(ones(3))
# -- second
fast(ones(3))
# -- fixed
@jax.jit
def step(w, rate):
    return w - rate * w

slow, fast = {"rate": 0.1}, {"rate": 0.2}
# -- fixed first
step(ones(3), slow["rate"])
# -- fixed second
step(ones(3), fast["rate"])

# ==== a decorator that jits on each call
# cause: new_function | `loss` at
# fix: Define and jit it once, outside the loop
def experiment(seed):
    def loss(w):
        return (w * seed).sum()

    return jax.jit(loss)(ones(3))

# -- first
experiment(1)
# -- second
experiment(2)
# -- fixed
@jax.jit
def loss(w, seed):
    return (w * seed).sum()

def experiment(seed):
    return loss(ones(3), seed)

# ==== a jitted function that nothing keeps
# cause: function_collected | was garbage-collected with its programs
# fix: Keep a reference to the jitted function instead of creating it for each call.
import gc

def make():
    def double(x):
        return x * 2

    return jax.jit(double)
# -- first
make()(ones(3))
gc.collect()
# -- second
make()(ones(3))
# -- fixed
def make():
    def double(x):
        return x * 2

    return jax.jit(double)

double = make()
# -- fixed first
double(ones(3))
# -- fixed second
double(ones(3))

# ==== jit of grad of a method in a loop
# cause: new_function | `jax.grad(loss)` is a new function
# fix: Create it once, outside the loop: `g = jax.jit(jax.grad(loss))`.
class Model:
    def loss(self, w):
        return (w**2).sum()

model = Model()
# -- first
jax.jit(jax.grad(model.loss))(ones(3))
# -- second
jax.jit(jax.grad(model.loss))(ones(3))
# -- fixed
class Model:
    def loss(self, w):
        return (w**2).sum()

model = Model()
g = jax.jit(jax.grad(model.loss))
# -- fixed first
g(ones(3))
# -- fixed second
g(ones(3))

# ==== jit of grad of a partial in a loop
# cause: new_function | `jax.grad(loss)` is a new function
# fix: Create it once, outside the loop
def loss(w, x):
    return ((w * x) ** 2).sum()

# -- first
jax.jit(jax.grad(partial(loss, x=2.0)))(ones(3))
# -- second
jax.jit(jax.grad(partial(loss, x=2.0)))(ones(3))
# -- fixed
def loss(w, x):
    return ((w * x) ** 2).sum()

g = jax.jit(jax.grad(partial(loss, x=2.0)))
# -- fixed first
g(ones(3))
# -- fixed second
g(ones(3))

# ==== a list of jitted lambdas
# cause: new_function | is a new function object
# fix: Define and jit it once
heads = [jax.jit(lambda x, i=i: x * i) for i in range(2)]
# -- first
heads[0](ones(3))
# -- second
heads[1](ones(3))
# -- fixed
head = jax.jit(lambda x, i: x * i)
# -- fixed first
head(ones(3), 0)
# -- fixed second
head(ones(3), 1)

# ==== a decorator of one's own around a function made again
# cause: new_function | is a new function object
# fix: Define and jit it once
def logged(function):
    @functools.wraps(function)
    def wrapper(*args):
        return function(*args)

    return wrapper

def double(x):
    return x * 2

def run(x):
    return jax.jit(logged(double))(x)
# -- first
run(ones(3))
# -- second
run(ones(3))
# -- fixed
def logged(function):
    @functools.wraps(function)
    def wrapper(*args):
        return function(*args)

    return wrapper

@jax.jit
@logged
def double(x):
    return x * 2

def run(x):
    return double(x)

# ==== a factory that is called per epoch, with the same arguments
# cause: new_function | `update` at
# fix: Define and jit it once
def build(momentum):
    def update(w, v):
        return w - v * momentum

    return jax.jit(update)

kept = [build(0.9), build(0.9)]
# -- first
kept[0](ones(3), ones(3))
# -- second
kept[1](ones(3), ones(3))
# -- fixed
def build(momentum):
    def update(w, v):
        return w - v * momentum

    return jax.jit(update)

update = build(0.9)
# -- fixed first
update(ones(3), ones(3))
# -- fixed second
update(ones(3), ones(3))

# ==== an array in a closure
# cause: new_function | `predict` at
# fix: Pass `w` as an argument
def build(w):
    @jax.jit
    def predict(x):
        return x @ w

    return predict

one, other = build(jnp.ones((3, 2))), build(jnp.zeros((3, 2)))
# -- first
one(ones(3))
# -- second
other(ones(3))
# -- fixed
@jax.jit
def predict(x, w):
    return x @ w

one, other = jnp.ones((3, 2)), jnp.zeros((3, 2))
# -- fixed first
predict(ones(3), one)
# -- fixed second
predict(ones(3), other)

# ==== the Hessian of a function in a loop
# cause: new_function | `jax.jacfwd(jax.jacrev(energy))` is a new function: each call of `jax.jacfwd` returns one.
# fix: Create it once, outside the loop: `g = jax.jit(jax.jacfwd(jax.jacrev(energy)))`.
def energy(x):
    return (x**4).sum()

# -- first
jax.jit(jax.hessian(energy))(ones(3))
# -- second
jax.jit(jax.hessian(energy))(ones(3))
# -- fixed
def energy(x):
    return (x**4).sum()

g = jax.jit(jax.jacfwd(jax.jacrev(energy)))
# -- fixed first
g(ones(3))
# -- fixed second
g(ones(3))

# ==== a custom gradient defined in a function
# cause: new_function | is a new function object
# fix: Define and jit it once
def run(x):
    @jax.custom_vjp
    def clipped(x):
        return x

    clipped.defvjp(lambda x: (x, None), lambda _, g: (jnp.clip(g, -1, 1),))
    return jax.jit(lambda x: clipped(x) * 2)(x)
# -- first
run(ones(3))
# -- second
run(ones(3))
# -- fixed
@jax.custom_vjp
def clipped(x):
    return x

clipped.defvjp(lambda x: (x, None), lambda _, g: (jnp.clip(g, -1, 1),))
double = jax.jit(lambda x: clipped(x) * 2)

def run(x):
    return double(x)
