"""`match` and `:=` as the assignments and branches that they mean: new statements, with the places of the old ones."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import TypeVar

from pymetal.errors import PyMetalError
from pymetal.frontend.refusals import construct
from pymetal.frontend.source import Source

Node = TypeVar("Node", bound=ast.AST)
_BINDING = (ast.MatchAs, ast.NamedExpr)
_STATEMENTS = (
    ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Assert, ast.Expr, ast.For, ast.If, ast.Match, ast.Return, ast.While,
)  # fmt: skip


def desugar(source: Source, body: list[ast.stmt]) -> list[ast.stmt]:
    """The statements of `body` without `match` and `:=`; `body` itself if it has none.

    Raises:
        PyMetalError: a pattern is not one of numbers, or a `:=` might not be evaluated.
    """
    if not any(isinstance(node, ast.Match | ast.NamedExpr) for stmt in body for node in ast.walk(stmt)):
        return body
    return _Desugaring(source).block(body)


class _Desugaring:
    def __init__(self, source: Source) -> None:
        self.source = source
        self.names = {getattr(n, role) for n in ast.walk(source.node) for role in ("id", "arg") if hasattr(n, role)}

    def block(self, stmts: Sequence[ast.stmt]) -> list[ast.stmt]:
        return [new for stmt in stmts for new in self.statement(stmt)]

    def statement(self, stmt: ast.stmt) -> Iterator[ast.stmt]:
        """The statements that `stmt` means."""
        if not isinstance(stmt, _STATEMENTS):
            yield stmt
            return
        walrus = _Walrus(self.source)
        match stmt:
            case ast.Match(subject=subject, cases=cases):
                subject = walrus.visit(subject)
                yield from walrus.assignments
                yield from self.match(stmt, subject, cases)
            case ast.While(test=test):
                test = walrus.visit(test)
                body = self.block(stmt.body)
                if walrus.assignments:  # computed in each iteration
                    leave = _at(test, ast.If(_at(test, ast.UnaryOp(ast.Not(), test)), [_at(test, ast.Break())], []))
                    body, test = [*walrus.assignments, leave, *body], _at(test, ast.Constant(True))
                yield _at(stmt, ast.While(test, body, self.block(stmt.orelse)))
            case ast.If(test=test):
                test = walrus.visit(test)
                yield from walrus.assignments
                yield _at(stmt, ast.If(test, self.block(stmt.body), self.block(stmt.orelse)))
            case ast.For(target=target, iter=iterable):
                iterable = walrus.visit(iterable)
                yield from walrus.assignments
                yield _at(stmt, ast.For(target, iterable, self.block(stmt.body), self.block(stmt.orelse)))
            case ast.Expr(value=ast.NamedExpr() as value):
                walrus.visit(value)
                yield from walrus.assignments
            case ast.Assert(test=test):
                test = walrus.visit(test)
                yield from walrus.assignments
                yield _at(stmt, ast.Assert(test, stmt.msg))
            case _:
                new = walrus.visit(stmt)
                yield from walrus.assignments
                yield new

    # --- match ---

    def match(self, stmt: ast.Match, subject: ast.expr, cases: list[ast.match_case]) -> Iterator[ast.stmt]:
        """The cases as branches; the subject is computed once, and cannot change before the last test."""
        nodes = [n for case in cases for part in (case.pattern, case.guard) if part for n in ast.walk(part)]
        bound = {n.name if isinstance(n, ast.MatchAs) else n.target.id for n in nodes if isinstance(n, _BINDING)}
        if not isinstance(subject, ast.Name) or subject.id in bound:
            name = "subject"
            while name in self.names:
                name += "_"
            self.names.add(name)
            yield _assign(subject, name, subject)
            subject = _at(subject, ast.Name(name, ast.Load()))
        yield from self.cases(stmt, subject, cases)

    def cases(self, stmt: ast.Match, subject: ast.Name, cases: list[ast.match_case]) -> list[ast.stmt]:
        if not cases:
            return []
        case, *others = cases
        pattern: ast.pattern | None = case.pattern
        name = None
        if isinstance(pattern, ast.MatchAs):
            name = pattern.name
            if pattern.pattern is not None and name is not None and case.guard is not None:
                raise self.refuse(pattern, "`as` with a guard", "Test the subject itself in the guard.")
            pattern = pattern.pattern
        test = None if pattern is None else self.test(subject, pattern)
        capture = [] if name is None else [_assign(case.pattern, name, subject)]
        body = self.block(case.body)
        if case.guard is not None:
            walrus = _Walrus(self.source, certain=test is None)
            guard = walrus.visit(case.guard)
            capture += walrus.assignments
            test = guard if test is None else _at(guard, ast.BoolOp(ast.And(), [test, guard]))
            return [*capture, _at(case.pattern, ast.If(test, body, self.cases(stmt, subject, others)))]
        if test is None:
            return [*capture, *body]  # Python itself refuses cases after it
        return [_at(case.pattern, ast.If(test, [*capture, *body], self.cases(stmt, subject, others)))]

    def test(self, subject: ast.Name, pattern: ast.pattern) -> ast.expr:
        """Whether `subject` matches a pattern of numbers."""
        match pattern:
            case ast.MatchValue(value=value):
                return _at(pattern, ast.Compare(subject, [ast.Eq()], [value]))
            case ast.MatchSingleton(value=bool() as truth):
                return _at(pattern, ast.Compare(subject, [ast.Is()], [_at(pattern, ast.Constant(truth))]))
            case ast.MatchOr(patterns=patterns):
                return _at(pattern, ast.BoolOp(ast.Or(), [self.test(subject, p) for p in patterns]))
            case ast.MatchAs(name=None):
                return _at(pattern, ast.Constant(True))
            case ast.MatchSingleton():
                raise self.refuse(pattern, "`case None`", "A value is a number, never None.")
            case ast.MatchAs():
                raise self.refuse(pattern, "a name inside a pattern", "Name the whole pattern: `case 1 | 2 as n`.")
            case _:
                raise self.refuse(pattern, *construct(pattern))

    def refuse(self, pattern: ast.pattern, what: str, hint: str) -> PyMetalError:
        return self.source.refusal("statement", pattern, what=what, hint=hint)


class _Walrus(ast.NodeTransformer):
    """Replaces each `name := value` of one statement by the name, in the order of evaluation.

    Attributes:
        assignments: what has to stand before the statement.
    """

    def __init__(self, source: Source, certain: bool = True) -> None:
        self.source = source
        self.certain = certain  # whether what is visited is evaluated whenever the statement is
        self.read: set[str] = set()  # names that are read in the statement so far
        self.assignments: list[ast.stmt] = []

    def generic_visit(self, node: ast.AST) -> ast.AST:
        fields = {name: self._visit_field(value) for name, value in ast.iter_fields(node)}
        return _at(node, type(node)(**fields))

    def _visit_field(self, value: object) -> object:
        if isinstance(value, list):
            return [self._visit_field(v) for v in value]
        return self.visit(value) if isinstance(value, ast.AST) else value

    def visit_Name(self, node: ast.Name) -> ast.Name:
        if isinstance(node.ctx, ast.Load):
            self.read.add(node.id)
        return node

    def visit_NamedExpr(self, node: ast.NamedExpr) -> ast.expr:
        name, before = node.target.id, set(self.read)
        if not self.certain:
            raise self._refuse(node, "where it may not be evaluated", f"Assign {name!r} on a line of its own.")
        value = self.visit(node.value)
        if name in before:
            hint = f"Assign {name!r} on a line of its own, or use another name."
            raise self._refuse(node, f"of {name!r}, which is read before it in this statement,", hint)
        self.read = before | {name}
        self.assignments.append(_assign(node, name, value))
        return _at(node, ast.Name(name, ast.Load()))

    def _refuse(self, node: ast.NamedExpr, where: str, hint: str) -> PyMetalError:
        return self.source.refusal("expression", node, what=f"`:=` {where}", hint=hint)

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        self.read |= {n.id for n in ast.walk(node.target) if isinstance(n, ast.Name)}
        return _at(node, ast.AugAssign(node.target, node.op, self.visit(node.value)))

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        first, *others = node.values
        return _at(node, ast.BoolOp(node.op, [self.visit(first), *map(self._perhaps, others)]))

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        left, (first, *others) = self.visit(node.left), node.comparators
        return _at(node, ast.Compare(left, node.ops, [self.visit(first), *map(self._perhaps, others)]))

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        test = self.visit(node.test)
        return _at(node, ast.IfExp(test, self._perhaps(node.body), self._perhaps(node.orelse)))

    def _perhaps(self, node: Node) -> Node:
        """`node`, which a condition decides whether to evaluate."""
        outer, self.certain = self.certain, False
        new: Node = self.visit(node)
        self.certain = outer
        return new

    def _inner_scope(self, node: Node) -> Node:
        outer, self.certain = self.certain, False
        new = self.generic_visit(node)
        self.certain = outer
        return new  # type: ignore[return-value]

    visit_GeneratorExp = visit_ListComp = visit_SetComp = visit_DictComp = visit_Lambda = _inner_scope


def _at(place: ast.AST, node: Node) -> Node:
    """`node` with the place of another."""
    return ast.copy_location(node, place)


def _assign(place: ast.AST, name: str, value: ast.expr) -> ast.stmt:
    return _at(place, ast.Assign([_at(place, ast.Name(name, ast.Store()))], value))
