# A cell that raises because a traced NumPy array is no `np.ndarray`.
# expect: refused "sees JAX's tracer in place of `a` \(ndarray\).*-s a"
# line: 2

# %% setup
import numpy as np
a = np.arange(3.0)

# %% cell
if not isinstance(a, np.ndarray):
    raise TypeError("an array, please")
y = a * 2
