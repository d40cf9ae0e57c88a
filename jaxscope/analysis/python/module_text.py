"""A cell's text as a plain Python module that holds one jitted function."""

import ast
from collections.abc import Mapping, Sequence


def function(
    name: str,
    body: str,
    *,
    parameters: Sequence[str],
    results: Sequence[str],
    constants: Mapping[str, str],
    preamble: Sequence[str],
    transformed: str = "",
    returns: str = "",
    derived: bool = False,
    has_aux: bool = False,
    decorator: str = "jax.jit",
) -> str:
    """A function under the decorator that runs the body and returns the names that the cell bound.

    The value of the last expression is returned last; a single result is returned bare. The text
    goes through the syntax tree, so that strings over several lines are preserved. `transformed` is
    an expression of plain JAX that is bound below the function instead of the decorator, and
    `returns` describes its value; with `derived` the function returns `(value, results)` for it.
    """
    tree = ast.parse(body)
    values: list[ast.expr] = [ast.Name(result, ast.Load()) for result in results]
    last = tree.body[-1] if tree.body else None
    value: ast.expr | None = None
    if isinstance(last, ast.Expr):
        tree.body.pop()
        value = last.value
    elif derived and isinstance(last, ast.Assign | ast.AnnAssign | ast.AugAssign):
        target = last.targets[0] if isinstance(last, ast.Assign) else last.target
        value = ast.parse(ast.unparse(target), mode="eval").body
    if derived and value is not None:
        bound: ast.expr = ast.Tuple(values, ast.Load())
        if has_aux:
            tree.body.append(ast.parse(f"loss, aux = {ast.unparse(value)}").body[0])
            value = ast.Name("loss", ast.Load())
            bound = ast.Tuple([ast.Name("aux", ast.Load()), bound], ast.Load())
        values = [value, bound]
    elif value is not None:
        values.append(value)
    returned = values[0] if len(values) == 1 else ast.Tuple(values, ast.Load())
    arguments = ast.arguments([], [ast.arg(name) for name in parameters], None, [], [], None, [])
    statements: list[ast.stmt] = [*tree.body]
    if values:
        statements.append(ast.Return(returned))
    decorators: list[ast.expr] = []
    if not transformed:
        decorators.append(ast.parse(decorator, mode="eval").body)
    made = ast.FunctionDef(name, arguments, statements or [ast.Pass()], decorators)
    if "type_params" in made._fields:  # Python 3.12 and later
        made.type_params = []  # type: ignore[attr-defined]
    text = ast.unparse(ast.fix_missing_locations(ast.Module([made], type_ignores=[])))
    lines = [f"{constant} = {value}" for constant, value in constants.items()]
    if transformed:
        text = f"{text}\n\n\n# Returns {returns}.\n{name}_transformed = {transformed}"
    return joined([*preamble, *lines], text)


def joined(preamble: Sequence[str], text: str) -> str:
    """Imports first, then definitions, then the text, with the blank lines that Python likes."""
    imports = [line for line in preamble if line.startswith(("import ", "from "))]
    rest = [part for part in preamble if not part.startswith(("import ", "from "))]
    return "\n\n".join(["\n".join(imports), *rest, text.strip()]) + "\n"
