"""The rules of shape: length, names, first lines, public faces. Pure functions from one source to findings."""

import ast
import re
from collections.abc import Iterator

from tests.house.sources import Source

FILE_LINES = 400
FUNCTION_LINES = 40
STRICT_PLACES = ("provisioner/core", "provisioner/edge")

# A thing named by one of these says nothing of what it knows.
EMPTY_WORDS = frozenset({"manager", "helper", "helpers", "util", "utils", "utility", "handler", "base", "misc"})

# In core and edge no gate has a way round it.
GATE_EXEMPTION = re.compile(r"#\s*noqa:[^#]*\b(C901|PLR0912|PLR0915)\b")

Function = ast.FunctionDef | ast.AsyncFunctionDef
# What carries a docstring.
Documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def long_files(found: Source) -> list[str]:
    """A file over the limit whose docstring does not say `Over 400 lines because …`."""
    length = len(found.lines)
    reason = f"Over {FILE_LINES} lines because" in (ast.get_docstring(found.tree) or "")
    if length > FILE_LINES and not reason:
        return [
            f"{found.path}:1 has {length} lines: split it, or say `Over {FILE_LINES} lines because …` in its docstring"
        ]
    return []


def long_functions(found: Source) -> list[str]:
    """A function at or over the limit, docstring not counted; outside core and edge `# long: why` excuses it."""
    strict = found.is_under(*STRICT_PLACES)
    return [
        found.at(function, f"{function.name} has {length} lines, the limit is under {FUNCTION_LINES}")
        for function in functions(found)
        if (length := _length(function)) >= FUNCTION_LINES
        if strict or "# long: " not in found.lines[function.lineno - 1]
    ]


def gate_exemptions(found: Source) -> list[str]:
    """A lint gate on length or complexity switched off in core or edge."""
    if not found.is_under(*STRICT_PLACES):
        return []
    return [
        f"{found.path}:{number} switches off a gate: there are no exemptions in core and edge"
        for number, line in enumerate(found.lines, 1)
        if GATE_EXEMPTION.search(line)
    ]


def empty_names(found: Source) -> list[str]:
    """A file, class or function whose name holds a word that says nothing."""
    findings = [
        f"{found.path}:1 the file's name says nothing of what it knows"
        for part in found.path.with_suffix("").parts
        if EMPTY_WORDS.intersection(part.lower().split("_"))
    ]
    for node in ast.walk(found.tree):
        if not isinstance(node, ast.ClassDef | Function) or node.name.startswith(
            "test_"
        ):  # a sentence may use any word
            continue
        if EMPTY_WORDS.intersection(_words(node.name)):
            findings.append(found.at(node, f"{node.name} says nothing of what it knows"))
    return findings


def missing_promises(found: Source) -> list[str]:
    """A file, public class or public function without a docstring."""
    findings = []
    for node in _public(found.tree):
        if isinstance(node, Documented) and not ast.get_docstring(node) and node.body:
            name = getattr(node, "name", "the file")
            findings.append(found.at(node, f"{name} has no docstring: one sentence of promise"))
    return findings


def unchosen_faces(found: Source) -> list[str]:
    """A package face (an `__init__` that imports) without `__all__`, or with names in it that it does not have."""
    if found.path.name != "__init__.py":
        return []
    bound, listed = set[str](), None
    for node in found.tree.body:
        match node:
            case ast.Import(names=names) | ast.ImportFrom(names=names):
                bound |= {alias.asname or alias.name for alias in names}
            case ast.Assign(targets=[ast.Name(id="__all__")], value=value):
                listed = set(ast.literal_eval(value))
            case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
                bound.add(name)
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                bound.add(name)
            case _:
                pass
    if listed is None:
        return [f"{found.path}:1 has a face and no __all__"] if bound else []
    public = {name for name in bound if not name.startswith("_")}
    differing = sorted(listed ^ public)
    return [f"{found.path}:1 __all__ and what is bound differ in {', '.join(differing)}"] if differing else []


def functions(found: Source) -> Iterator[Function]:
    """Every function and method, nested ones too."""
    return (node for node in ast.walk(found.tree) if isinstance(node, Function))


def _length(function: Function) -> int:
    whole = (function.end_lineno or function.lineno) - function.lineno + 1
    if ast.get_docstring(function) is None:
        return whole
    docstring = function.body[0]
    return whole - ((docstring.end_lineno or docstring.lineno) - docstring.lineno + 1)


def _words(name: str) -> set[str]:
    return {word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+", name)}


def _public(tree: ast.Module) -> Iterator[ast.AST]:
    yield tree
    for node in tree.body:
        if isinstance(node, ast.ClassDef | Function) and not node.name.startswith("_"):
            yield node
