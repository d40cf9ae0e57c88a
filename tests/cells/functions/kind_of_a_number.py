# A function that asks what kind of number its argument is gets plain Python's answer.

# %% setup
import numpy as np
a = np.ones(3, "f")

# %% cell
def is_float(v):
    return 1 if type(v) is float else 0

def name(v):
    return {"type": type(v).__name__, "value": 1.0}

def has_shape(v):
    return 1 if hasattr(v, "shape") else 0

def knows_integers(v):
    return 1 if callable(getattr(v, "is_integer", None)) else 0

def is_scalar(v):
    return 1 if np.isscalar(v) else 0

def is_array(v):
    return 1 if type(v) is np.ndarray else 0

answers = [f(2.0) for f in (is_float, name, has_shape, knows_integers, is_scalar, is_array)]
b = is_float(2.0)
c = name(2.0)
d = has_shape(2.0) + knows_integers(2.0) + is_scalar(2.0)
e = is_array(a) + has_shape(a)

# %% change
a = a + 1
