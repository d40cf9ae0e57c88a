# NumPy before and after, JAX inside.

# %% setup
import jax
import jax.numpy as jnp
import numpy as np
x = jnp.arange(3.0)

# %% cell
def f(v): return jnp.sort(v)[::-1]

raw = np.array([3.0, 1.0, 2.0], np.float32)
y = np.asarray(f(raw))
mean = float(np.mean(f(jnp.asarray(raw))))
np.testing.assert_allclose(y, [3, 2, 1])
n = int(f(raw).argmax())
listed = f(raw).tolist()

# %% change
x = x + 1
