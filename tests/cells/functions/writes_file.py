# A function that writes a file writes it once per call.

# %% setup
import jax
import jax.numpy as jnp
import numpy as np
x = jnp.arange(3.0)

# %% cell
import pathlib, tempfile
path = pathlib.Path(tempfile.gettempdir()) / "jaxscope_cell_written.txt"
path.unlink(missing_ok=True)

def log(v):
    with open(path, "a") as out:
        out.write("line\n")
    return v * 2

rows = [log(x), log(x)]
text = path.read_text()
path.unlink()
del path

# %% change
x = x + 1
