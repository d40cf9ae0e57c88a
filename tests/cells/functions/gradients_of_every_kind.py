# grad, value_and_grad with aux, jvp, vjp, linearize, Hessian, Jacobians.

# %% setup
import jax
import jax.numpy as jnp
import numpy as np
x = jnp.arange(3.0)

# %% cell
def f(v): return (v ** 3).sum()
def aux(v): return f(v), {"mean": v.mean()}

g = jax.grad(f)(x)
(value, extra), ga = jax.value_and_grad(aux, has_aux=True)(x)
primal, tangent = jax.jvp(f, (x,), (x,))
out, pull = jax.vjp(f, x)
cotangent, = pull(1.0)
h = jax.hessian(f)(x)
jf, jr = jax.jacfwd(lambda v: v * 2)(x), jax.jacrev(lambda v: v * 2)(x)
y, push = jax.linearize(f, x)
dy = push(x)
del pull, push

# %% change
x = x + 1
