"""The rules of conduct: errors, unfinished work, money, frozen values. Pure functions from one source to findings."""

import ast
import re

from tests.house.shape import Function, functions
from tests.house.sources import Source

# Where foreign callables are run, and only there, a broad except may stand. Patterns of paths from the root.
BROAD_EXCEPT_ALLOWED = (
    "provisioner/runtime/provider_link.py",
    "provisioner/runtime/links/*.py",
    "provisioner/runtime/perform.py",
    "provisioner/runtime/rest_server.py",
    "provider_sdk/serve.py",
    "provider_sdk/dispatch.py",
)

UNFINISHED = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b")


def broad_excepts(found: Source) -> list[str]:
    """An except (or suppress) of everything where no foreign callable is run; one that ends in `raise` is free."""
    if any(found.path.match(pattern) for pattern in BROAD_EXCEPT_ALLOWED):
        return []
    caught = [
        node
        for node in ast.walk(found.tree)
        if isinstance(node, ast.ExceptHandler) and _is_broad(node.type) and not _raises_again(node)
    ]
    suppressed = [
        node
        for node in ast.walk(found.tree)
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("suppress") and any(map(_is_broad, node.args))
    ]
    return [found.at(node, "catches everything: name what can fail here") for node in (*caught, *suppressed)]


def unfinished(found: Source) -> list[str]:
    """A note to finish later, a body of `...` or `pass`, or NotImplementedError."""
    notes = [
        f"{found.path}:{number} is a note to finish later"
        for number, line in enumerate(found.lines, 1)
        if UNFINISHED.search(line)
    ]
    declared = {id(inner) for node in ast.walk(found.tree) if _is_protocol(node) for inner in ast.walk(node)}
    stubs = [
        found.at(function, f"{function.name} is a stub")
        for function in functions(found)
        if id(function) not in declared and _is_stub(function)
    ]
    raised = [
        found.at(node, "raises NotImplementedError")
        for node in ast.walk(found.tree)
        if isinstance(node, ast.Name) and node.id == "NotImplementedError"
    ]
    return notes + stubs + raised


def float_money(found: Source) -> list[str]:
    """A name that says nano-units and an annotation that says float."""
    findings = []
    for node in ast.walk(found.tree):
        match node:
            case (
                ast.arg(arg=name, annotation=annotation)
                | ast.AnnAssign(target=ast.Name(id=name), annotation=annotation)
            ):
                if name.endswith("_nanos") and annotation is not None and "float" in ast.unparse(annotation):
                    findings.append(found.at(node, f"{name} is money: an integer, never float"))
            case ast.FunctionDef(name=name, returns=returns) if name.endswith("_nanos"):
                if returns is not None and "float" in ast.unparse(returns):
                    findings.append(found.at(node, f"{name} gives money: an integer, never float"))
            case _:
                pass
    return findings


def mutable_values(found: Source) -> list[str]:
    """A value class in a pure place that is not frozen."""
    if not found.is_under("provisioner/core", "provisioner/edge", "provider_sdk/contract"):
        return []
    return [
        found.at(node, f"{node.name} is not frozen: values are @frozen attrs classes")
        for node in ast.walk(found.tree)
        if isinstance(node, ast.ClassDef)
        for decorator in node.decorator_list
        if re.search(r"\b(define|mutable|dataclass|attr\.s|attrs\.define)\b", ast.unparse(decorator))
        and "frozen=True" not in ast.unparse(decorator)
    ]


def _is_broad(caught: ast.expr | None) -> bool:
    match caught:
        case None:
            return True
        case ast.Name(id=name):
            return name in {"Exception", "BaseException", "ExceptionGroup", "BaseExceptionGroup"}
        case ast.Tuple(elts=elements):
            return any(map(_is_broad, elements))
        case _:
            return False


def _raises_again(caught: ast.ExceptHandler) -> bool:
    last = caught.body[-1]
    return isinstance(last, ast.Raise) and last.exc is None


def _is_protocol(node: ast.AST) -> bool:
    return isinstance(node, ast.ClassDef) and any("Protocol" in ast.unparse(parent) for parent in node.bases)


def _is_stub(function: Function) -> bool:
    if any(ast.unparse(decorator).endswith(("overload", "abstractmethod")) for decorator in function.decorator_list):
        return False
    body = function.body[1:] if ast.get_docstring(function) else function.body
    return [ast.unparse(statement) for statement in body] in (["..."], ["pass"])
