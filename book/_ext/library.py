"""The reference of the library, written from its signatures and docstrings.

    ```{library} attnlib
    project attention_scores
    ```

gives a section for each name: how it is called, its shapes in the colours of the dimensions, its
units, what it raises, an example that the tests run, and its source.
"""

import dataclasses
import importlib
import inspect
import re
from pathlib import Path

from docstrings import PAGES, code_block, documented
from docutils import nodes
from docutils.parsers.rst import Directive

LAYER = re.compile(r"\btorch\.nn\.modules\.(?:\w+\.)*")
MODULE = re.compile(r"\b(?:attnlib|torch|collections|typing|jaxtyping)\.(?:\w+\.)*")
WIDTH = 78


# --- signatures --------------------------------------------------------------------------------


def annotation(parameter):
    """The type of a parameter in few letters; a tensor's is its shape, which stands below."""
    hint = parameter.annotation
    text = "" if hint is inspect.Parameter.empty else inspect.formatannotation(hint)
    text = MODULE.sub("", LAYER.sub("nn.", text.strip("'")))
    if "Tensor" in text or len(text) > 40:
        return inspect.Parameter.empty
    return Words(text) if text else inspect.Parameter.empty


class Words(str):
    """An annotation that prints as it is."""

    __slots__ = ()

    def __repr__(self):
        return str(self)


def call(name, thing):
    """How it is called, one argument a line where one line is too long."""
    parameters = [
        parameter.replace(annotation=annotation(parameter))
        for parameter in inspect.signature(thing).parameters.values()
        if not parameter.name.startswith("_") and parameter.name != "self"
    ]
    arguments = written(parameters)
    line = f"{name}({', '.join(arguments)})"
    if len(line) <= WIDTH:
        return line
    return f"{name}(\n" + "".join(f"    {argument},\n" for argument in arguments) + ")"


def written(parameters):
    """Each parameter as code, with `/` and `*` where they part the kinds."""
    kinds = [parameter.kind for parameter in parameters]
    arguments = [str(parameter) for parameter in parameters]
    named = inspect.Parameter.KEYWORD_ONLY
    if named in kinds and inspect.Parameter.VAR_POSITIONAL not in kinds:
        arguments.insert(kinds.index(named), "*")
    if inspect.Parameter.POSITIONAL_ONLY in kinds:
        arguments.insert(kinds.count(inspect.Parameter.POSITIONAL_ONLY), "/")
    return arguments


def members(thing):
    """The public methods of a class that say what they do, with the names they go by."""
    if not inspect.isclass(thing):
        return []
    own = ((name, getattr(thing, name)) for name in vars(thing) if not name.startswith("_"))
    return [(name, value) for name, value in own if callable(value) and inspect.getdoc(value)]


def fields(thing):
    """The names of what an instance holds, in a sentence."""
    names = getattr(thing, "_fields", None) or (
        [field.name for field in dataclasses.fields(thing)]
        if dataclasses.is_dataclass(thing)
        else []
    )
    names = [name for name in names if not name.startswith("_")]
    if not names:
        return []
    words = [part for name in names for part in (nodes.literal("", name), nodes.Text(" · "))]
    return [nodes.paragraph("", "", nodes.Text("Holds "), *words[:-1])]


def given(thing):
    """Say whether a class is what a function returns or raises, and not called by a reader."""
    is_record = dataclasses.is_dataclass(thing) or hasattr(thing, "_fields")
    return is_record or (inspect.isclass(thing) and issubclass(thing, Exception))


class Library(Directive):
    """Sections for some public names of a module."""

    required_arguments = 1
    has_content = True

    def run(self):
        module = importlib.import_module(self.arguments[0])
        names = " ".join(self.content).split()
        return [self.section(module, name) for name in names]

    def section(self, module, name):
        thing = getattr(module, name)
        section = nodes.section(ids=[name], names=[name])
        section += nodes.title("", "", nodes.literal("", name))
        env = self.state.document.settings.env
        env.note_dependency(
            inspect.getsourcefile(inspect.unwrap(thing) if callable(thing) else module)
        )
        if not callable(thing):
            section += code_block(f"{name} = {thing!r}", "python")
            return section
        if not given(thing):
            section += code_block(call(name, thing), "python")
        section += documented(inspect.getdoc(thing) or "")
        section += fields(thing)
        for method, value in members(thing):
            section += code_block(call(f"{name}.{method}", value), "python")
            section += documented(inspect.getdoc(value))
        return section


def find_pages(app):
    PAGES[:] = sorted(path.stem for path in (Path(app.srcdir) / "book").glob("*.ipynb"))


def setup(app):
    app.add_directive("library", Library)
    app.connect("builder-inited", find_pages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
