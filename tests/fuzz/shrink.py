"""Makes a failing program short: fewer statements, and simpler ones."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace
from types import ModuleType

from tests.fuzz.rounding import judge
from tests.fuzz.running import Finding, Program, Statement, observe


def shrink(finding: Finding, oracle: ModuleType, framework: ModuleType) -> Finding:
    """The shortest program found that still differs in the same aspect."""

    def still(program: Program) -> Finding | None:
        found = judge(program, observe(program, oracle), oracle, framework)
        return found if found is not None and alike(found, finding) else None

    best, improved = finding, True
    while improved:
        improved = False
        for candidate in candidates(best.program):
            found = still(candidate)
            if found is not None and size(found.program) < size(best.program):
                best, improved = found, True
                break
    return replace(best, seed=finding.seed)


def alike(found: Finding, finding: Finding) -> bool:
    """The same aspect; for errors the same errors, so that a call does not become a wrong one."""
    same_errors = (found.expected, found.actual) == (finding.expected, finding.actual)
    return found.aspect == finding.aspect and (found.aspect != "error" or same_errors)


def size(program: Program) -> tuple[int, int]:
    return len(program), sum(len(statement.source) for statement in program)


def candidates(program: Program) -> Iterator[Program]:
    program = list(program)
    for index in range(len(program)):
        yield program[:index] + program[index + 1 :]
    for index in reversed(range(len(program))):
        for source in simpler(program[index].source):
            statement = Statement(program[index].kind, source)
            yield program[:index] + [statement] + program[index + 1 :]


def simpler(source: str) -> Iterator[str]:
    """Shorter forms: the body of a ``with``, one line of many, a call without an argument,
    an operand in place of an operation, a literal cut down."""
    tree = ast.parse(source)
    for index, node in enumerate(tree.body):
        rest = [ast.unparse(n) for n in tree.body]
        if isinstance(node, ast.With):
            rest[index] = "\n".join(ast.unparse(n) for n in node.body)
            yield "\n".join(rest)
        elif len(rest) > 1:
            yield "\n".join(rest[:index] + rest[index + 1 :])
    for parent in ast.walk(tree):
        for field, value in ast.iter_fields(parent):
            if isinstance(value, list) and _may_lack_one(parent, field, value):
                for index in range(len(value)):
                    setattr(parent, field, value[:index] + value[index + 1 :])
                    yield ast.unparse(tree)
                setattr(parent, field, value)
            elif isinstance(value, ast.expr) and not isinstance(parent, ast.keyword):
                for inner in _operands(value):
                    setattr(parent, field, inner)
                    yield ast.unparse(tree)
                setattr(parent, field, value)


def _operands(node: ast.expr) -> list[ast.expr]:
    if isinstance(node, ast.BinOp):
        return [node.left, node.right]
    if isinstance(node, ast.Call):
        inner = node.func.value if isinstance(node.func, ast.Attribute) else None
        receiver = [inner] if inner is not None and not _is_module(inner) else []
        return receiver + [a for a in node.args if isinstance(a, ast.expr)]
    if isinstance(node, ast.Subscript):
        return [node.value]
    return []


def _may_lack_one(parent: ast.AST, field: str, value: list) -> bool:
    if isinstance(parent, ast.List):
        return len(value) > 1
    return isinstance(parent, ast.Call) and field == "keywords"


def _is_module(node: ast.expr) -> bool:
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name) and node.id == "T"
