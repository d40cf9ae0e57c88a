# Settings, placement, options of the jit, caches.

# ==== x64 switched on
# cause: context | The config setting `jax_enable_x64`, part of the trace context, changed: False → True.
# fix: Set it once at the top, with `jax.config.update("jax_enable_x64", …)`
@jax.jit
def square(x):
    return x * x

# -- first
square(2.0)
# -- second
jax.config.update("jax_enable_x64", True)
square(2.0)
# -- fixed
jax.config.update("jax_enable_x64", True)

@jax.jit
def square(x):
    return x * x

# -- fixed second
square(2.0)

# ==== another precision of products
# cause: context | `jax_default_matmul_precision`, part of the trace context, changed: None → highest.
# fix: Set it once at the top
@jax.jit
def gram(x):
    return x.T @ x

# -- first
gram(ones(3, 3))
# -- second
with jax.default_matmul_precision("highest"):
    gram(ones(3, 3))
# -- fixed
jax.config.update("jax_default_matmul_precision", "highest")

@jax.jit
def gram(x):
    return x.T @ x

# -- fixed second
gram(ones(3, 3))

# ==== a default device for one call
# cause: context | The config setting `jax_default_device`
# fix: Set it once at the top, with `jax.config.update("jax_default_device", …)`
@jax.jit
def shift(x):
    return x + 1

# -- first
shift(ones(3))
# -- second
with jax.default_device(jax.devices()[0]):
    shift(ones(3))
# -- fixed
jax.config.update("jax_default_device", jax.devices()[0])

@jax.jit
def shift(x):
    return x + 1

# -- fixed second
shift(ones(3))

# ==== strict promotion for one call
# cause: context | The config setting `jax_numpy_dtype_promotion`
# fix: Set it once at the top, with `jax.config.update("jax_numpy_dtype_promotion", …)`
@jax.jit
def add(x, y):
    return x + y

# -- first
add(ones(3), ones(3))
# -- second
with jax.numpy_dtype_promotion("strict"):
    add(ones(3), ones(3))
# -- fixed
jax.config.update("jax_numpy_dtype_promotion", "strict")

@jax.jit
def add(x, y):
    return x + y

# -- fixed second
add(ones(3), ones(3))

# ==== rank promotion forbidden for one call
# cause: context | The config setting `jax_numpy_rank_promotion`
# fix: Set it once at the top
@jax.jit
def add(x, y):
    return x + y

# -- first
add(ones(3), ones(3))
# -- second
with jax.numpy_rank_promotion("raise"):
    add(ones(3), ones(3))
# -- fixed
jax.config.update("jax_numpy_rank_promotion", "raise")

@jax.jit
def add(x, y):
    return x + y

# -- fixed second
add(ones(3), ones(3))

# ==== a mesh around some calls
# cause: context | The mesh in the trace context changed
# fix: Call `jax.set_mesh(mesh)` once at the top, not around some of the calls.
mesh = jax.make_mesh((1,), ("data",), axis_types=(jax.sharding.AxisType.Auto,))

@jax.jit
def mean(x):
    return x.mean()

# -- first
mean(ones(3))
# -- second
with jax.set_mesh(mesh):
    mean(ones(3))
# -- fixed first
with jax.set_mesh(mesh):
    mean(ones(3))
# -- fixed second
with jax.set_mesh(mesh):
    mean(ones(3))

# ==== committed data after uncommitted
# cause: committed | `x` was uncommitted and is now committed to cpu:0, which is a different cache key.
# fix: Commit all inputs before the first call, with `jax.device_put(x, device)`
@jax.jit
def scale(x):
    return 3 * x

x = jnp.ones(3)
put = jax.device_put(x, jax.devices()[0])
# -- first
scale(x)
# -- second
scale(put)
# -- fixed
@jax.jit
def scale(x):
    return 3 * x

put = x = jax.device_put(jnp.ones(3), jax.devices()[0])

# ==== parameters restored from a checkpoint
# cause: committed | `params['b']` (and 1 other) was uncommitted and is now committed to cpu:0
# fix: `jax.device_put(params, device)`
@jax.jit
def step(params):
    return jax.tree.map(lambda p: p * 0.9, params)

params = {"w": ones(3), "b": ones(1)}
restored = jax.device_put(params, jax.devices()[0])
# -- first
step(params)
# -- second
step(restored)
# -- fixed
@jax.jit
def step(params):
    return jax.tree.map(lambda p: p * 0.9, params)

restored = params = jax.device_put({"w": ones(3), "b": ones(1)}, jax.devices()[0])

# ==== another device
# cause: device | The device of `x` changed: cpu:0 → cpu:1.
# fix: Keep the inputs on one device
# needs: devices
@jax.jit
def shift(x):
    return x + 1

one, other = (jax.device_put(ones(3), device) for device in jax.devices()[:2])
# -- first
shift(one)
# -- second
shift(other)
# -- fixed second
shift(one)

# ==== sharded and then replicated
# cause: sharding | The sharding of `x` changed: P('data') over mesh data=2 → P() over mesh data=2.
# fix: Use one sharding: `jax.device_put(x, sharding)` before the loop
# needs: devices
mesh = jax.make_mesh((2,), ("data",), axis_types=(jax.sharding.AxisType.Auto,), devices=jax.devices()[:2])
sharded, replicated = (jax.device_put(ones(4), jax.NamedSharding(mesh, spec)) for spec in (jax.P("data"), jax.P()))
mean = jax.jit(lambda x: x - x.mean())
# -- first
mean(sharded)
# -- second
mean(replicated)
# -- fixed
mesh = jax.make_mesh((2,), ("data",), axis_types=(jax.sharding.AxisType.Auto,), devices=jax.devices()[:2])
sharding = jax.NamedSharding(mesh, jax.P("data"))
sharded, replicated = jax.device_put(ones(4), sharding), jax.device_put(ones(4), jax.NamedSharding(mesh, jax.P()))
replicated = jax.device_put(replicated, sharding)
mean = jax.jit(lambda x: x - x.mean())

# ==== a batch over a mesh after one on a single device
# cause: sharding | The sharding of `x` changed: cpu:0 → P('data') over mesh data=2.
# fix: Use one sharding: `jax.device_put(x, sharding)` before the loop
# needs: devices
mesh = jax.make_mesh((2,), ("data",), axis_types=(jax.sharding.AxisType.Auto,), devices=jax.devices()[:2])
sharding = jax.NamedSharding(mesh, jax.P("data"))
one, spread = jax.device_put(ones(4), jax.devices()[0]), jax.device_put(ones(4), sharding)
mean = jax.jit(lambda x: x - x.mean())
# -- first
mean(one)
# -- second
mean(spread)
# -- fixed first
one = jax.device_put(one, sharding)
mean(one)

# ==== a column-major matrix
# cause: layout | The memory layout of `x` changed: default → major_to_minor=(1, 0).
# fix: Convert `x` to one layout before the first call, with `jax.device_put(x, format)`
from jax.experimental.layout import Format, Layout

flip = jax.jit(lambda x: -x)
x = jax.device_put(ones(3, 4), jax.devices()[0])
columns = jax.device_put(x, Format(Layout(major_to_minor=(1, 0)), x.sharding))
# -- first
flip(x)
# -- second
flip(columns)
# -- fixed first
x = jax.device_put(x, Format(Layout(major_to_minor=(1, 0)), x.sharding))
flip(x)

# ==== donation added
# cause: donation | The donated arguments of the jit changed: `donate_argnums` none → (0).
# fix: Jit the function once, with the intended donation, and reuse that object.
def grow(x):
    return x + 1

x, y = jnp.ones(3), jnp.ones(3)
# -- first
jax.jit(grow)(x)
# -- second
jax.jit(grow, donate_argnums=0)(y)
# -- fixed
def grow(x):
    return x + 1

grow = jax.jit(grow, donate_argnums=0)
x, y = jnp.ones(3), jnp.ones(3)
# -- fixed first
grow(x)
# -- fixed second
grow(y)

# ==== donation by name
# cause: donation | The donated arguments of the jit changed: `donate_argnums` none → (0).
# fix: Jit the function once, with the intended donation
def grow(state):
    return state + 1

x, y = jnp.ones(3), jnp.ones(3)
# -- first
jax.jit(grow)(state=x)
# -- second
jax.jit(grow, donate_argnames="state")(state=y)
# -- fixed
def grow(state):
    return state + 1

grow = jax.jit(grow, donate_argnames="state")
x, y = jnp.ones(3), jnp.ones(3)
# -- fixed first
grow(state=x)
# -- fixed second
grow(state=y)

# ==== shardings of the results given
# cause: jit_option | A `jax.jit` option changed: `out_shardings` none → SingleDeviceSharding
# fix: Jit the function once and reuse that object everywhere.
def same(x):
    return x + 1

here = jax.sharding.SingleDeviceSharding(jax.devices()[0])
# -- first
jax.jit(same)(ones(3))
# -- second
jax.jit(same, out_shardings=here)(ones(3))
# -- fixed
here = jax.sharding.SingleDeviceSharding(jax.devices()[0])

@partial(jax.jit, out_shardings=here)
def same(x):
    return x + 1
# -- fixed first
same(ones(3))
# -- fixed second
same(ones(3))

# ==== an argument made static by a second jit
# cause: jit_option | `n` was a traced argument and is now static.
# fix: Jit the function once and reuse that object everywhere.
def power(x, n):
    return x**n

# -- first
jax.jit(power)(ones(3), 2)
# -- second
jax.jit(power, static_argnums=1)(ones(3), 2)
# -- fixed
@partial(jax.jit, static_argnums=1)
def power(x, n):
    return x**n
# -- fixed first
power(ones(3), 2)
# -- fixed second
power(ones(3), 2)

# ==== options for the compiler
# cause: compiler_option | The compiler options changed: none → xla_cpu_enable_fast_math=True.
# fix: Set the compiler options once
def fast(x):
    return x * 4

# -- first
jax.jit(fast)(ones(3))
# -- second
jax.jit(fast, compiler_options={"xla_cpu_enable_fast_math": True})(ones(3))
# -- fixed
@partial(jax.jit, compiler_options={"xla_cpu_enable_fast_math": True})
def fast(x):
    return x * 4
# -- fixed first
fast(ones(3))
# -- fixed second
fast(ones(3))

# ==== the cache of one function cleared
# cause: cache_cleared | Nothing changed: JAX had dropped the earlier program.
# fix: Look for `jax.clear_caches()` and `.clear_cache()`
@jax.jit
def cube(x):
    return x**3

# -- first
cube(ones(3))
# -- second
cube.clear_cache()
cube(ones(3))
# -- fixed second
cube(ones(3))

# ==== results back from NumPy
# cause: committed | `x` was committed to cpu:0 and is now uncommitted, which is a different cache key.
# fix: Commit all inputs before the first call, with `jax.device_put(x, device)`
@jax.jit
def scale(x):
    return 3 * x

put = jax.device_put(ones(3), jax.devices()[0])
# -- first
y = scale(put)
# -- second
scale(np.asarray(y))
# -- fixed second
scale(jax.device_put(np.asarray(y), jax.devices()[0]))

# ==== x64 for one block
# cause: context | The config setting `jax_enable_x64`, part of the trace context, changed: False → True.
# fix: Set it once at the top, with `jax.config.update("jax_enable_x64", …)`
@jax.jit
def square(x):
    return x * x

# -- first
square(ones(3))
# -- second
with jax.enable_x64(True):
    square(np.ones(3))
# -- fixed
jax.config.update("jax_enable_x64", True)

@jax.jit
def square(x):
    return x * x

# -- fixed first
square(np.ones(3))
# -- fixed second
square(np.ones(3))

# ==== all caches cleared
# cause: cache_cleared | Nothing changed: JAX had dropped the earlier program.
# fix: Look for `jax.clear_caches()`
@jax.jit
def cube(x):
    return x**3

# -- first
cube(ones(3))
# -- second
jax.clear_caches()
cube(ones(3))
# -- fixed second
cube(ones(3))
