# Operations outside any jit, transforms, and programs compiled ahead of time.

# ==== an operation on another size
# cause: eager_shape | The arguments of the eager operation `cumsum` changed: a f32[3] → f32[4].
# fix: Use one size: pad and mask
x, y = ones(3), ones(4)
# -- first
jnp.cumsum(x)
# -- second
jnp.cumsum(y)
# -- fixed first
jnp.cumsum(np.pad(x, (0, 5)))
# -- fixed second
jnp.cumsum(np.pad(y, (0, 4)))

# ==== slices that grow
# cause: eager_shape | slice_sizes (2,) → (3,)
# fix: Use one size
x = jnp.ones(11)
# -- first
x[:2]
# -- second
x[:3]
# -- fixed
x = np.ones(11, np.float32)

# ==== the first use of an operation
# cause: eager_op | The operation `i0` ran eagerly (outside any jit) for the first time
# fix: Put the surrounding code into a function under `jax.jit`
# -- first
x = ones(3)
# -- second
jnp.i0(x)
# -- fixed
@jax.jit
def f(x):
    return jnp.i0(x)
# -- fixed first
x = ones(3)
f(x)
# -- fixed second
f(x)

# ==== an operation on another dtype
# cause: eager_shape | The arguments of the eager operation `sinh` changed: x f32[3] → f16[3].
# fix: Put the surrounding code into a function under `jax.jit`.
x, y = ones(3), ones(3, dtype=np.float16)
# -- first
jnp.sinh(x)
# -- second
jnp.sinh(y)
# -- fixed
@jax.jit
def f(x, y):
    return jnp.sinh(x), jnp.sinh(y)

x, y = ones(3), ones(3, dtype=np.float16)
# -- fixed first
f(x, y)
# -- fixed second
f(x, y)

# ==== a boolean mask
# cause: eager_shape | changed
# fix: pad and mask, as with `jnp.where(mask, x, 0)` for `x[mask]`
x = jnp.arange(13.0)
a, b = np.arange(13) > 3, np.arange(13) > 5
# -- first
x[a]
# -- second
x[b]
# -- fixed first
jnp.where(a, x, 0)
# -- fixed second
jnp.where(b, x, 0)

# ==== an eager scan with a lambda
# cause: eager_body | `scan` ran eagerly (outside any jit) with a new function
# fix: Call `scan` inside a function under `jax.jit`
x = ones(5)

def run(x):
    return lax.scan(lambda carry, v: (carry + v, carry), 0.0, x)
# -- first
run(x)
# -- second
run(x)
# -- fixed
x = ones(5)

@jax.jit
def run(x):
    return lax.scan(lambda carry, v: (carry + v, carry), 0.0, x)

# ==== an eager fori_loop
# cause: eager_body | ran eagerly (outside any jit) with a new function
# fix: inside a function under `jax.jit`
def power(x):
    return lax.fori_loop(0, 5, lambda i, v: v * x, x)

x = ones(6)
# -- first
power(x)
# -- second
power(x)
# -- fixed
@jax.jit
def power(x):
    return lax.fori_loop(0, 5, lambda i, v: v * x, x)

x = ones(6)

# ==== an eager cond
# cause: eager_body | `cond` ran eagerly (outside any jit) with
# fix: Call `cond` inside a function under `jax.jit`
def clip(flag, x):
    return lax.cond(flag, lambda v: v + 1.0, lambda v: v - 1.0, x)

flag, x = np.bool_(True), ones(7)
# -- first
clip(flag, x)
# -- second
clip(flag, x)
# -- fixed
@jax.jit
def clip(flag, x):
    return lax.cond(flag, lambda v: v + 1.0, lambda v: v - 1.0, x)

flag, x = np.bool_(True), ones(7)

# ==== an eager while_loop
# cause: eager_body | `while` ran eagerly (outside any jit) with a new function
# fix: Call `while` inside a function under `jax.jit`
def double(x):
    return lax.while_loop(lambda v: v < 100.0, lambda v: v * 2.0, x)

x = np.float32(3)
# -- first
double(x)
# -- second
double(x)
# -- fixed
@jax.jit
def double(x):
    return lax.while_loop(lambda v: v < 100.0, lambda v: v * 2.0, x)

x = np.float32(3)

# ==== a smaller batch under vmap
# cause: vmap_size | The batch size of `act` under vmap changed: `v` f32[8,3] → f32[5,3].
# fix: Use one batch size: pad the last batch, or drop it.
@jax.jit
def act(v):
    return jnp.tanh(v)

a, b = ones(8, 3), ones(5, 3)
# -- first
jax.vmap(act)(a)
# -- second
jax.vmap(act)(b)
# -- fixed second
jax.vmap(act)(np.pad(b, ((0, 3), (0, 0))))

# ==== the gradient of a jitted function on another size
# cause: shape | The shape of `x` changed: f32[3] → f32[4] (axis 0).
# fix: Pad `x` to a few fixed sizes
@jax.jit
def loss(x):
    return (x * x).sum()

a, b = ones(3), ones(4)
# -- first
jax.grad(loss)(a)
# -- second
jax.grad(loss)(b)
# -- fixed first
jax.grad(loss)(np.pad(a, (0, 1)))

# ==== vmap of a function that was called without
# cause: first_call | first compilation of `act` under vmap since jaxscope started listening at
@jax.jit
def act(v):
    return jnp.tanh(v)

a = ones(8, 3)
# -- first
act(a)
# -- second
jax.vmap(act)(a)

# ==== pmap on another size
# cause: shape | The shape of `x` changed: f32[1,3] → f32[1,4] (axis 1).
# fix: Pad `x` to a few fixed sizes
double = jax.pmap(lambda x: x * 2)
a, b = ones(1, 3), ones(1, 4)
# -- first
double(a)
# -- second
double(b)
# -- fixed first
double(np.pad(a, ((0, 0), (0, 1))))

# ==== pmap of a new lambda
# cause: new_function | is a new function object
# fix: Define and jit it once
a = ones(1, 3)

def run(a):
    return jax.pmap(lambda x: x * 2)(a)
# -- first
run(a)
# -- second
run(a)
# -- fixed
a = ones(1, 3)
double = jax.pmap(lambda x: x * 2)

def run(a):
    return double(a)

# ==== lowered again for another shape
# cause: shape | The shape of `x` changed: f32[3] → f32[4] (axis 0).
# fix: Pad `x` to a few fixed sizes
@jax.jit
def total(x):
    return x.sum()

# -- first
total.lower(ones(3)).compile()
# -- second
total.lower(ones(4)).compile()
# -- fixed first
total.lower(np.pad(ones(3), (0, 1))).compile()
total(np.pad(ones(3), (0, 1)))
# -- fixed second
total(ones(4))

# ==== compiled ahead of time for a shape, called with another
# cause: shape | The shape of `x` changed: f32[3] → f32[4] (axis 0).
# fix: Pad `x` to a few fixed sizes
@jax.jit
def total(x):
    return x.sum()

# -- first
compiled = total.lower(jax.ShapeDtypeStruct((3,), jnp.float32)).compile()
# -- second
total(ones(4))
# -- fixed first
compiled = total.lower(jax.ShapeDtypeStruct((4,), jnp.float32)).compile()

# ==== an inner jit that is called by itself
# cause: first_call | first compilation of `inner` since
@jax.jit
def inner(x):
    return x * 2

outer = jax.jit(lambda x: inner(x) + 1)
# -- first
outer(ones(3))
# -- second
inner(ones(3))

# ==== after make_jaxpr
# cause: first_call | It was traced before, but not compiled.
@jax.jit
def f(x):
    return x * 2

# -- first
jax.make_jaxpr(f)(ones(3))
# -- second
f(ones(3))

# ==== vmap over another axis
# cause: unknown | JAX does not show what vmap changed, such as the axis of the batch.
@jax.jit
def act(v):
    return jnp.tanh(v)

a = ones(3, 3)
# -- first
jax.vmap(act)(a)
# -- second
jax.vmap(act, in_axes=1)(a)

# ==== the gradient by another argument
# cause: unknown | JAX does not show what
@jax.jit
def loss(w, x):
    return ((w * x) ** 2).sum()

a = ones(3)
# -- first
jax.grad(loss)(a, a)
# -- second
jax.grad(loss, argnums=1)(a, a)

# ==== the gradient of a function that was called without
# cause: first_call | first compilation of `loss` under grad since jaxscope started listening at
@jax.jit
def loss(w):
    return (w**2).sum()

a = ones(3)
# -- first
loss(a)
# -- second
jax.grad(loss)(a)

# ==== an eager one_hot of more classes
# cause: eager_shape | changed: num_classes 5 → 6.
# fix: Put the surrounding code into a function under `jax.jit`
labels = np.arange(4)
# -- first
jax.nn.one_hot(labels, 5)
# -- second
jax.nn.one_hot(labels, 6)
# -- fixed
labels = np.arange(4)

@jax.jit
def codes(labels):
    return jax.nn.one_hot(labels, 5), jax.nn.one_hot(labels, 6)
# -- fixed first
codes(labels)
# -- fixed second
codes(labels)

# ==== random numbers of another shape
# cause: eager_shape | changed: shape[0] 3 → 4.
# fix: Use one size
key = jax.random.key(0)
# -- first
jax.random.normal(key, (3,))
# -- second
jax.random.normal(key, (4,))
# -- fixed second
jax.random.normal(key, (3,))

# ==== keys split into another number
# cause: eager_shape | changed: shape[0] 3 → 4.
# fix: Use one size
key = jax.random.key(0)
# -- first
jax.random.split(key, 3)
# -- second
jax.random.split(key, 4)
# -- fixed second
jax.random.split(key, 3)

# ==== a growing list stacked
# cause: eager_shape | The arguments of the eager operation
# fix: or use NumPy for this line
losses = [jnp.float32(1), jnp.float32(2)]
# -- first
jnp.stack(losses)
# -- second
losses.append(jnp.float32(3))
jnp.stack(losses)
# -- fixed first
np.stack(losses)
# -- fixed second
losses.append(jnp.float32(3))
np.stack(losses)

# ==== an eager map with a lambda
# cause: eager_body | `scan` ran eagerly (outside any jit) with a new function
# fix: Put the call into a function under `jax.jit`.
x = ones(9)

def squares(x):
    return lax.map(lambda v: v * v, x)
# -- first
squares(x)
# -- second
squares(x)
# -- fixed
x = ones(9)

@jax.jit
def squares(x):
    return lax.map(lambda v: v * v, x)

# ==== an eager map of one function
# cause: eager_body | `scan` ran eagerly (outside any jit) with a new function, which JAX creates in each call.
# fix: Put the call into a function under `jax.jit`.
x = ones(10)

def square(v):
    return v * v
# -- first
lax.map(square, x)
# -- second
lax.map(square, x)
# -- fixed
x = ones(10)

@jax.jit
def squares(x):
    return lax.map(lambda v: v * v, x)
# -- fixed first
squares(x)
# -- fixed second
squares(x)

# ==== an eager scan of one function over another length
# cause: eager_shape | The arguments of the eager operation `scan` changed: length 11, f32[11] → 12, f32[12].
# fix: Use one size: pad and mask
def add(carry, v):
    return carry + v, carry
# -- first
lax.scan(add, 0.0, ones(11))
# -- second
lax.scan(add, 0.0, ones(12))
# -- fixed first
lax.scan(add, 0.0, np.pad(ones(11), (0, 5)))
# -- fixed second
lax.scan(add, 0.0, np.pad(ones(12), (0, 4)))

# ==== an eager switch
# cause: eager_body | `cond` ran eagerly (outside any jit) with
# fix: Call `cond` inside a function under `jax.jit`
x, i = ones(10), np.int32(1)

def choose(i, x):
    return lax.switch(i, [lambda v: v, lambda v: v * 2, lambda v: v * 3], x)
# -- first
choose(i, x)
# -- second
choose(i, x)
# -- fixed
x, i = ones(10), np.int32(1)

@jax.jit
def choose(i, x):
    return lax.switch(i, [lambda v: v, lambda v: v * 2, lambda v: v * 3], x)

# ==== an eager update of another slice
# cause: eager_shape | changed
# fix: Use one size
x = jnp.zeros(12)
# -- first
x.at[np.arange(3)].set(1.0)
# -- second
x.at[np.arange(4)].set(1.0)
# -- fixed first
x = x.at[np.pad(np.arange(3), (0, 5), mode="edge")].set(1.0)
# -- fixed second
x.at[np.pad(np.arange(4), (0, 4), mode="edge")].set(1.0)

# ==== shard_map of a new lambda
# cause: new_function | is a new function
# fix: once
mesh = jax.make_mesh((1,), ("data",), axis_types=(jax.sharding.AxisType.Auto,))
a = ones(2)

def run(a):
    return jax.jit(jax.shard_map(lambda x: x * 2, mesh=mesh, in_specs=jax.P("data"), out_specs=jax.P("data")))(a)
# -- first
run(a)
# -- second
run(a)
# -- fixed
mesh = jax.make_mesh((1,), ("data",), axis_types=(jax.sharding.AxisType.Auto,))
a = ones(2)
g = jax.jit(jax.shard_map(lambda x: x * 2, mesh=mesh, in_specs=jax.P("data"), out_specs=jax.P("data")))

def run(a):
    return g(a)

# ==== ranges of another length
# cause: eager_shape | changed
# fix: or use NumPy for this line
# -- first
jnp.arange(40)
# -- second
jnp.arange(50)
# -- fixed first
np.arange(40)
# -- fixed second
np.arange(50)
