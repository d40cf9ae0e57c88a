# Checks with numpy.testing and assert after the calls.

# %% setup
import jax
import jax.numpy as jnp
import numpy as np
x = jnp.arange(3.0)

# %% cell
def softmax(v):
    e = jnp.exp(v - v.max())
    return e / e.sum()

def test_sums_to_one():
    np.testing.assert_allclose(float(softmax(x).sum()), 1.0, rtol=1e-6)

def test_order():
    assert bool((jnp.diff(softmax(x)) > 0).all())

test_sums_to_one(); test_order()

# %% change
x = x + 1
