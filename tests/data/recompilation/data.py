# Arguments: sizes, dtypes, Python numbers, keys.

# ==== the last batch is smaller
# cause: shape | The shape of `x` changed: f32[8,3] → f32[5,3] (axis 0).
# fix: Pad `x` to a few fixed sizes and mask the padding
@jax.jit
def step(w, x):
    return w - 0.1 * jax.grad(lambda w: ((x @ w) ** 2).mean())(w)

w, data = ones(3), ones(13, 3)
# -- first
w = step(w, data[:8])
w = step(w, data[:8])
# -- second
step(w, data[8:])
# -- fixed
@jax.jit
def step(w, x, mask):
    return w - 0.1 * jax.grad(lambda w: (mask * (x @ w) ** 2).sum() / mask.sum())(w)

w, data = ones(3), ones(13, 3)
# -- fixed first
w = step(w, data[:8], ones(8))
w = step(w, data[:8], ones(8))
# -- fixed second
step(w, np.pad(data[8:], ((0, 3), (0, 0))), np.pad(ones(5), (0, 3)))

# ==== sequences of different lengths
# cause: shape | The shape of `tokens` changed: i32[2,7] → i32[2,9] (axis 1).
# fix: Pad `tokens` to a few fixed sizes and mask the padding
@jax.jit
def encode(table, tokens):
    return table[tokens].mean(axis=1)

table, a, b = ones(16, 4), np.ones((2, 7), np.int32), np.ones((2, 9), np.int32)
# -- first
encode(table, a)
# -- second
encode(table, b)
# -- fixed
@jax.jit
def encode(table, tokens, mask):
    return (table[tokens] * mask[..., None]).sum(axis=1) / mask.sum(axis=1, keepdims=True)

def pad(tokens, size=16):
    more = ((0, 0), (0, size - tokens.shape[1]))
    return np.pad(tokens, more), np.pad(np.ones_like(tokens), more)

table, a, b = ones(16, 4), np.ones((2, 7), np.int32), np.ones((2, 9), np.int32)
# -- fixed first
encode(table, *pad(a))
# -- fixed second
encode(table, *pad(b))

# ==== a growing array
# cause: shape | The shape of `seen` changed: f32[4,2] → f32[6,2] (axis 0).
# script: shape | → f32[6,2] (axis 0).
# fix: Pad `seen` to a few fixed sizes and mask the padding
@jax.jit
def center(seen):
    return seen - seen.mean(axis=0)

seen = ones(2, 2)
# -- first
for _ in range(2):
    center(seen)
    seen = np.concatenate([seen, ones(2, 2)])
# -- second
center(np.concatenate([seen]))
# -- fixed
@jax.jit
def center(seen, used):
    mask = (jnp.arange(len(seen)) < used)[:, None]
    return jnp.where(mask, seen - (seen * mask).sum(axis=0) / used, 0)

seen = np.zeros((8, 2), np.float32)
# -- fixed first
for used in (2, 4):
    center(seen, used)
# -- fixed second
center(seen, 6)

# ==== one example without its batch axis
# cause: rank | The rank of `image` changed: f32[1,8,8] → f32[8,8].
# fix: for example as `image.reshape(1, 8, 8)`
@jax.jit
def blur(image):
    return image.mean(axis=-1)

one = ones(8, 8)
# -- first
blur(one[None])
# -- second
blur(one)
# -- fixed second
blur(one.reshape(1, 8, 8))

# ==== channels last
# cause: shape | (axes 1, 2, 3: the same sizes, reordered)
# fix: `jnp.transpose(x, (0, 3, 1, 2))` has the earlier sizes
@jax.jit
def mean(x):
    return x.mean(axis=(0, 2, 3))

first, second = ones(2, 3, 8, 5), ones(2, 8, 5, 3)
# -- first
mean(first)
# -- second
mean(second)
# -- fixed second
mean(np.transpose(second, (0, 3, 1, 2)))

# ==== labels of another dtype
# cause: dtype | The dtype of `y` changed: i32[4] → u8[4].
# fix: Convert `y` once, where it is created: `jnp.asarray(value, jnp.int32)`
@jax.jit
def count(y):
    return (y == 1).sum()

labels = np.array([0, 1, 1, 0], np.uint8)
# -- first
count(labels.astype(np.int32))
# -- second
count(labels)
# -- fixed
@jax.jit
def count(y):
    return (y == 1).sum()

labels = jnp.asarray(np.array([0, 1, 1, 0], np.uint8), jnp.int32)
# -- fixed first
count(labels)

# ==== images as bytes
# cause: dtype | The dtype of `image` changed: f32[4,4] → u8[4,4].
# fix: Convert `image` once, where it is created: `jnp.asarray(value, jnp.float32)`
@jax.jit
def normalize(image):
    return image / 255

raw = np.ones((4, 4), np.uint8)
# -- first
normalize(ones(4, 4))
# -- second
normalize(raw)
# -- fixed
@jax.jit
def normalize(image):
    return image / 255

raw = jnp.asarray(np.ones((4, 4), np.uint8), jnp.float32)

# ==== half precision
# cause: dtype | The dtype of `x` changed: f32[4] → bf16[4].
# fix: Convert `x` once, where it is created: `jnp.asarray(value, jnp.float32)`
@jax.jit
def square(x):
    return x * x

half = jnp.ones(4, jnp.bfloat16)
# -- first
square(ones(4))
# -- second
square(half)
# -- fixed
@jax.jit
def square(x):
    return x * x

half = jnp.asarray(jnp.ones(4, jnp.bfloat16), jnp.float32)

# ==== a float and then an int
# cause: value_kind | The Python scalar type of `scale` changed: float → int (f32 → i32).
# script: dtype | The dtype of `scale` changed: f32[] → i32[] (Python int).
# fix: such as `float(scale)`
@jax.jit
def rescale(x, scale):
    return x * scale

# -- first
rescale(ones(3), 0.5)
# -- second
rescale(ones(3), 1)
# -- fixed second
rescale(ones(3), float(1))

# ==== a flag that is 1 after True
# cause: value_kind | The Python scalar type of `flag` changed: bool → int (bool → i32).
# script: dtype | The dtype of `flag` changed: bool[] → i32[] (Python int).
# fix: such as `int(flag)`
@jax.jit
def gate(x, flag):
    return jnp.where(flag, x, 0)

# -- first
gate(ones(3), True)
# -- second
gate(ones(3), 1)
# -- fixed first
gate(ones(3), int(True))
# -- fixed second
gate(ones(3), int(1))

# ==== the learning rate as a Python float, then as an array
# cause: weak_type | `lr` changed between a weakly and a strongly typed f32: Python float → jax.Array.
# script: weak_type | f32: weakly typed value → jax.Array.
# fix: `jnp.asarray(value, jnp.float32)`
@jax.jit
def sgd(w, lr):
    return w - lr * w

decayed = jnp.float32(0.05)
# -- first
sgd(ones(3), 0.1)
# -- second
sgd(ones(3), decayed)
# -- fixed first
sgd(ones(3), jnp.asarray(0.1, jnp.float32))
# -- fixed second
sgd(ones(3), jnp.asarray(decayed, jnp.float32))

# ==== the learning rate of a NumPy schedule
# cause: weak_type | `lr` changed between a weakly and a strongly typed f32: Python float → np.float32.
# script: weak_type | f32: weakly typed value → np.float32.
# fix: `jnp.asarray(value, jnp.float32)`
@jax.jit
def sgd(w, lr):
    return w - lr * w

schedule = np.linspace(0.1, 0.01, 5, dtype=np.float32)
# -- first
sgd(ones(3), 0.1)
# -- second
sgd(ones(3), schedule[1])
# -- fixed first
sgd(ones(3), jnp.asarray(0.1, jnp.float32))
# -- fixed second
sgd(ones(3), jnp.asarray(schedule[1], jnp.float32))

# ==== a loop that passes its result in again
# cause: weak_type | `total` changed between a weakly and a strongly typed f32: Python float → jax.Array.
# script: weak_type | f32: weakly typed value → jax.Array.
# fix: `jnp.asarray(value, jnp.float32)`
@jax.jit
def add(total, x):
    return total + x.sum()

total = 0.0
# -- first
total = add(total, ones(3))
# -- second
total = add(total, ones(3))
# -- fixed
@jax.jit
def add(total, x):
    return total + x.sum()

total = jnp.asarray(0.0, jnp.float32)

# ==== a weakly typed start
# cause: weak_type | `x` changed between a weakly and a strongly typed f32: weakly typed jax.Array → jax.Array.
# script: weak_type | f32: weakly typed value → jax.Array.
# fix: `jnp.asarray(value, jnp.float32)`
@jax.jit
def grow(x):
    return x * jnp.float32(1.5)

x = jnp.asarray(1.0)
# -- first
y = grow(x)
# -- second
grow(y)
# -- fixed
@jax.jit
def grow(x):
    return x * jnp.float32(1.5)

x = jnp.asarray(1.0, jnp.float32)

# ==== the step as an int, then as an array
# cause: weak_type | `i` changed between a weakly and a strongly typed i32: Python int → jax.Array.
# script: weak_type | i32: weakly typed value → jax.Array.
# fix: `jnp.asarray(value, jnp.int32)`
@jax.jit
def warm_up(w, i):
    return w * (i / 100)

count = jnp.int32(3)
# -- first
warm_up(ones(3), 0)
# -- second
warm_up(ones(3), count)
# -- fixed first
warm_up(ones(3), jnp.asarray(0, jnp.int32))
# -- fixed second
warm_up(ones(3), jnp.asarray(count, jnp.int32))

# ==== an int where an array of floats was
# cause: dtype | The dtype of `bias` changed: f32[] (jax.Array) → i32[] (Python int).
# script: dtype | The dtype of `bias` changed: f32[] → i32[] (Python int).
# fix: Convert `bias` once, where it is created: `jnp.asarray(value, jnp.float32)`
@jax.jit
def shift(x, bias):
    return x + bias

bias = jnp.float32(0.5)
# -- first
shift(ones(3), bias)
# -- second
shift(ones(3), 0)
# -- fixed second
shift(ones(3), jnp.asarray(0, jnp.float32))

# ==== an old key after a new one
# cause: dtype | The type of the random key `key` changed: key<fry>[] → u32[2].
# fix: Make every key with `jax.random.key(seed)`
@jax.jit
def noise(key):
    return jax.random.normal(key, (3,))

new, old = jax.random.key(0), jax.random.PRNGKey(0)
# -- first
noise(new)
# -- second
noise(old)
# -- fixed
@jax.jit
def noise(key):
    return jax.random.normal(key, (3,))

new, old = jax.random.key(0), jax.random.key(0)

# ==== a key of another implementation
# cause: dtype | The type of the random key `key` changed: key<fry>[] → key<rbg>[].
# fix: `jax.random.key(seed, impl="threefry2x32")`
@jax.jit
def noise(key):
    return jax.random.normal(key, (3,))

one, other = jax.random.key(0), jax.random.key(0, impl="rbg")
# -- first
noise(one)
# -- second
noise(other)
# -- fixed
@jax.jit
def noise(key):
    return jax.random.normal(key, (3,))

one, other = (jax.random.key(0, impl="threefry2x32") for _ in range(2))

# ==== several keys at once
# cause: rank | The rank of `key` changed: key<fry>[] → key<fry>[2].
# fix: Pass `key` with the same dimensions and sizes in every call.
@jax.jit
def noise(key):
    return jax.random.bits(key.ravel()[0], (3,))

key = jax.random.key(0)
keys = jax.random.split(key)
# -- first
noise(key)
# -- second
noise(keys)
# -- fixed
@jax.jit
def noise(key):
    return jax.random.bits(key.ravel()[0], (3,))

key, keys = jax.random.split(jax.random.key(0))

# ==== validation with another batch size
# cause: shape | The shape of `batch['x']` changed: f32[8,3] → f32[16,3] (axis 0).
# fix: Pad `batch['x']` to a few fixed sizes
@jax.jit
def loss(batch):
    return ((batch["x"].sum(axis=1) - batch["y"]) ** 2).mean()

def batch(size):
    return {"x": ones(size, 3), "y": ones(size)}

# -- first
loss(batch(8))
# -- second
loss(batch(16))
# -- fixed
@jax.jit
def loss(batch, mask):
    return (mask * (batch["x"].sum(axis=1) - batch["y"]) ** 2).sum() / mask.sum()

def batch(size):
    zeros = np.zeros((16, 3), np.float32)
    zeros[:size] = 1
    return {"x": zeros, "y": ones(16)}, (np.arange(16) < size)
# -- fixed first
loss(*batch(8))
# -- fixed second
loss(*batch(16))
