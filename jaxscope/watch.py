"""`python -m jaxscope.watch train.py`: run a script and write down what each process compiles."""

import sys

if __name__ == "__main__":
    from jaxscope.cluster.script import main

    sys.exit(main(sys.argv[1:]))
else:
    # `jaxscope.watch` is a function, which an import of this module must not replace.
    from jaxscope.api import watch

    sys.modules[__name__] = watch  # pyright: ignore[reportArgumentType]
