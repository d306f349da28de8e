"""A correction pasted in place of what it was written for."""

import ast
import inspect
import textwrap


def pasted(program, error):
    """Write the correction into the program's own text, and return the program that this makes."""
    lines, first = inspect.getsourcelines(program)
    before, after = "".join(lines[: error.line - first]), "".join(lines[error.line - first :])
    assert after.count(error.code) == 1, (after, error.code)
    text = before + after.replace(error.code, error.suggestion)
    made = dict(vars(inspect.getmodule(program)))
    exec(textwrap.dedent(text[text.index("def ") :]), made)
    return made[program.__name__]


def is_one_piece(error):
    """Is a correction one expression, or one statement, in the line that it is pasted into?"""
    if error.suggestion is None:
        return True
    line = error.message.splitlines()[1].partition("  # ")[0].strip()
    line += " pass" if line.endswith(":") else ""
    if line.count(error.code) != 1:  # it goes on in other lines
        return True
    tree = ast.parse(line.replace(error.code, error.suggestion))
    pieces = {ast.dump(node) for node in ast.walk(tree)}
    wanted = ast.parse(error.suggestion).body
    wanted = [node.value if isinstance(node, ast.Expr) else node for node in wanted]
    return all(ast.dump(node) in pieces for node in wanted)
