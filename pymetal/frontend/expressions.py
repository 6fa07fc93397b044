"""An `ast` expression becomes a typed `ir.Expr`: operands are joined, conversions written out, constants folded."""

from __future__ import annotations

import ast
import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from pymetal import dtypes, ir, ops
from pymetal.dtypes import Kind, TypeVariable
from pymetal.errors import PyMetalError, Span
from pymetal.frontend.annotations import type_of_object
from pymetal.frontend.names import describe, is_dotted, math_alias, root, static_value
from pymetal.frontend.refusals import SYMBOLS, construct, refusal
from pymetal.frontend.source import Source
from pymetal.frontend.typing import Typing
from pymetal.intrinsics import Intrinsic
from pymetal.ir import Call, Cast, Const, Expr, Op, Rule, Select, Type, Weak

Number = bool | int | float | complex

_BINARY: dict[type[ast.operator], Op] = {ast.Add: ops.ADD, ast.Sub: ops.SUB, ast.Mult: ops.MUL, ast.Div: ops.TRUEDIV}
_COMPARE: dict[type[ast.cmpop], Op] = {
    ast.Eq: ops.EQ, ast.NotEq: ops.NE, ast.Lt: ops.LT, ast.LtE: ops.LE, ast.Gt: ops.GT, ast.GtE: ops.GE,
}  # fmt: skip


@dataclass(frozen=True)
class Binding:
    """What a name of the body stands for at some point."""

    value: Expr  # how a use of the name reads
    slot: object | None  # the variable behind it; None for a parameter
    block: int  # the block that declares it
    assigned: bool = True  # False: declared, but some path to here sets no value


Env = Mapping[str, Binding]


class Expressions:
    """Types the expressions of one function for one group of dtypes."""

    def __init__(self, source: Source, typing: Typing, body_type: Type) -> None:
        self.source = source
        self.typing = typing
        self.body_type = body_type  # what the element type means inside the body
        self.local_names: frozenset[str] = frozenset()  # what the body assigns: never looked up outside it

    # --- entry points ---

    def lower(self, node: ast.expr, env: Env) -> Expr:
        """The typed expression of `node`.

        Raises:
            PyMetalError: some part of it cannot become Metal, or does not type-check.
        """
        match node:
            case ast.Constant(value=value):
                return self._constant(node, value)
            case ast.Name() | ast.Attribute() if is_dotted(node):
                return self._name(node, env)
            case ast.BinOp(left=left, op=operator, right=right):
                op = _BINARY.get(type(operator))
                if op is None:
                    raise self._operator(node, operator)
                return self.apply(op, [self.lower(left, env), self.lower(right, env)], self.source.span(node))
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return self.apply(ops.NEG, [self.lower(operand, env)], self.source.span(node))
            case ast.UnaryOp(op=ast.UAdd(), operand=operand):
                return self.lower(operand, env)
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return self.apply(ops.NOT, [self.test(operand, env, "`not`")], self.source.span(node))
            case ast.UnaryOp(op=unary):
                raise self._operator(node, unary)
            case ast.BoolOp(op=boolean, values=values):
                return self._boolean(node, boolean, values, env)
            case ast.Compare(left=left, ops=operators, comparators=comparators):
                return self._compare(node, left, operators, comparators, env)
            case ast.IfExp(test=test, body=then, orelse=otherwise):
                return self._conditional(node, test, then, otherwise, env)
            case ast.Call():
                return self._call(node, env)
            case _:
                what, way = construct(node)
                raise refusal("expression", self.source.span(node), what=what, way=way)

    def test(self, node: ast.expr, env: Env, what: str) -> Expr:
        """A bool expression, for `what`."""
        value = self.lower(node, env)
        if value.type != ir.BOOL and self.typing.kinds(value.type) != {Kind.BOOL}:
            raise refusal("not-bool", self.source.span(node), what=what, type=self.describe(value.type))
        return self.convert(value, ir.BOOL)

    # --- types ---

    def convert(self, value: Expr, target: Type, *, implicit: bool = True, span: Span | None = None) -> Expr:
        """`value` as `target`; no conversion is written where the two are the same type everywhere."""
        if isinstance(value, Const) and (isinstance(value.type, Weak) or value.type == ir.BOOL):
            return replace(value, type=target)
        if self.typing.same(value.type, target):
            return value
        return Cast(target, value, implicit, span)

    def describe(self, type_: Type) -> str:
        """A type as a message says it, with the dtypes it stands for."""
        if isinstance(type_, (Weak, ir.Concrete)):
            return str(type_)
        return f"{type_} ({', '.join(sorted({str(d) for d in self.typing.at(type_)}))})"

    def element(self, type_: Type) -> Type:
        """A type as written, with the element type replaced by what it means in this body."""
        match type_:
            case ir.Var():
                return self.body_type
            case ir.OpMath(of) | ir.ComplexOf(of) | ir.RealOf(of):
                return type(type_)(self.element(of))
            case _:
                return type_

    def apply(self, op: Op, args: list[Expr], span: Span) -> Expr:
        """Operator `op` on `args`, joined and converted as its row asks."""
        folded = self._fold(op, args, span)
        if folded is not None:
            return folded
        if op.rule is Rule.LOGICAL:
            return Call(op, tuple(args), ir.BOOL, span)
        joined = args[0].type
        for arg in args[1:]:
            common = self.typing.join(joined, arg.type)
            if common is None:
                raise refusal("no-common-type", span, a=self.describe(joined), b=self.describe(arg.type), at="")
            joined = common
        if op.rule in (Rule.DIVIDE, Rule.MATHS, Rule.PREDICATE):
            joined = self._map(self.typing.floating(joined), joined, op, span)
        compute = joined
        if op.rule in (Rule.MATHS, Rule.PREDICATE):
            compute = self._map(self.typing.compute(joined), joined, op, span)
        operands = tuple(self.convert(arg, compute) for arg in args)
        if op.rule in (Rule.COMPARE, Rule.PREDICATE):
            return Call(op, operands, ir.BOOL, span)
        call = Call(op, operands, compute, span)
        return self.convert(call, joined)

    def _map(self, mapped: Type | None, type_: Type, op: Op, span: Span) -> Type:
        if mapped is None:
            raise refusal("no-common-type", span, a=self.describe(type_), b="float", at=f" for {op.name}")
        return mapped

    def _fold(self, op: Op, args: list[Expr], span: Span) -> Expr | None:
        """The value of an operator on Python numbers alone, as Python has it."""
        if op.python is None:
            return None
        values: list[Number] = []
        for arg in args:
            if not isinstance(arg, Const) or not (isinstance(arg.type, Weak) or arg.type == ir.BOOL):
                return None
            values.append(arg.value)
        try:
            return weak(op.python(*values), span)
        except (ArithmeticError, ValueError) as error:
            raise refusal("operand-kind", span, op=op.name, type="these", at=f": {error}", way="Change it.") from error

    # --- the kinds of expression ---

    def _constant(self, node: ast.expr, value: object) -> Expr:
        if isinstance(value, complex):
            raise refusal("complex-number", self.source.span(node))
        if isinstance(value, (bool, int, float)):
            return weak(value, self.source.span(node))
        raise refusal("constant", self.source.span(node), what=repr(value) if value is not ... else "`...`")

    def _name(self, node: ast.expr, env: Env) -> Expr:
        name = ast.unparse(node)
        if root(node) in env:
            binding = env[root(node)]
            if isinstance(node, ast.Attribute):
                raise refusal(
                    "expression", self.source.span(node), what=f"`.{node.attr}` of a value", way="Use numbers."
                )
            if not binding.assigned:
                raise refusal("unset", self.source.span(node), name=name)
            return binding.value
        if root(node) in self.local_names:
            raise refusal("unset", self.source.span(node), name=name)
        value = static_value(self.source, node)
        if hasattr(value, "dtype") and hasattr(value, "item") and getattr(value, "ndim", 1) == 0:
            value = value.item()  # a numpy scalar
        if isinstance(value, complex):
            raise refusal("complex-number", self.source.span(node))
        if isinstance(value, (bool, int, float)):
            return weak(value, self.source.span(node))
        raise refusal("not-a-value", self.source.span(node), name=name, what=describe(value))

    def _boolean(self, node: ast.expr, operator: ast.boolop, values: list[ast.expr], env: Env) -> Expr:
        op, what = (ops.AND, "`and`") if isinstance(operator, ast.And) else (ops.OR, "`or`")
        result = self.test(values[0], env, what)
        for value in values[1:]:
            result = self.apply(op, [result, self.test(value, env, what)], self.source.span(node))
        return result

    def _compare(
        self, node: ast.expr, left: ast.expr, operators: list[ast.cmpop], comparators: list[ast.expr], env: Env
    ) -> Expr:
        operands = [self.lower(n, env) for n in (left, *comparators)]
        result: Expr | None = None
        for operator, a, b in zip(operators, operands, operands[1:], strict=False):
            op = _COMPARE.get(type(operator))
            if op is None:
                raise self._operator(node, operator)
            link = self.apply(op, [a, b], self.source.span(node))
            result = link if result is None else self.apply(ops.AND, [result, link], self.source.span(node))
        assert result is not None
        return result

    def _conditional(self, node: ast.expr, test: ast.expr, then: ast.expr, otherwise: ast.expr, env: Env) -> Expr:
        condition = self.test(test, env, "a condition")
        if isinstance(condition, Const):
            return self.lower(then if condition.value else otherwise, env)
        a, b = self.lower(then, env), self.lower(otherwise, env)
        joined = self.typing.join(a.type, b.type)
        if joined is None:
            raise refusal(
                "no-common-type", self.source.span(node), a=self.describe(a.type), b=self.describe(b.type), at=""
            )
        return Select(condition, self.convert(a, joined), self.convert(b, joined), joined)

    def _call(self, node: ast.Call, env: Env) -> Expr:
        name = ast.unparse(node.func)
        if not is_dotted(node.func) or root(node.func) in env:
            raise refusal("not-callable", self.source.span(node.func), name=name, what="a value")
        callee = static_value(self.source, node.func)
        for argument in node.args:
            if isinstance(argument, ast.Starred):
                raise refusal("starred", self.source.span(argument))
        if node.keywords:
            keyword = node.keywords[0]
            raise refusal("keyword-argument", self.source.span(keyword), name=name, keyword=keyword.arg or "**")
        span = self.source.span(node)
        op = callee.op if isinstance(callee, Intrinsic) else ops.find(math_alias(callee) or "")
        if op is not None:
            self._count(node, name, op.arity)
            return self.apply(op, [self.lower(a, env) for a in node.args], span)
        fact = getattr(callee, "__pymetal_fact__", None)
        if fact is not None:
            return self._fact(node, name, fact)
        if callee is int:
            raise refusal("int-cast", span)
        target = type_of_object(callee)
        if target is not None:
            self._count(node, name, 1)
            return self.cast(self.lower(node.args[0], env), self.element(target), span)
        if isinstance(callee, types.FunctionType):
            raise refusal("undecorated", self.source.span(node.func), name=name)
        raise refusal("not-callable", self.source.span(node.func), name=name, what=describe(callee))

    def cast(self, value: Expr, target: Type, span: Span) -> Expr:
        """A cast that the user wrote."""
        real = dtypes.REAL
        if not (self.typing.kinds(value.type) <= real and self.typing.kinds(target) <= real):
            raise refusal("complex-number", span)
        if isinstance(value, Const) and isinstance(value.type, Weak) and self.typing.kinds(target) <= {Kind.FLOATING}:
            return replace(value, type=target)
        if self.typing.same(value.type, target):
            return value
        return Cast(target, value, implicit=False, span=span)

    def _fact(self, node: ast.Call, name: str, fact: Callable[[Kind], bool]) -> Expr:
        """`pymetal.is_integral(T)` and its kin: known for the group of dtypes at hand."""
        self._count(node, name, 1)
        argument = node.args[0]
        value: Any = static_value(self.source, argument) if is_dotted(argument) else None
        if not isinstance(value, TypeVariable):
            raise refusal("annotation", self.source.span(argument), found=ast.unparse(argument), near="")
        answers = {fact(d.kind) for d in self.typing.domain}
        assert len(answers) == 1, "a group of dtypes has one kind"
        return Const(answers.pop(), ir.BOOL)

    def _count(self, node: ast.Call, name: str, wanted: int) -> None:
        if len(node.args) != wanted:
            raise refusal(
                "argument-count", self.source.span(node), name=name, wanted=wanted, found=len(node.args),
                way=f"Call it as {name}({', '.join('xyz'[:wanted])}).",
            )  # fmt: skip

    def _operator(self, node: ast.expr, operator: ast.AST) -> PyMetalError:
        symbol = SYMBOLS[type(operator)]
        way = "Elements are numbers: compare with `==`." if symbol.startswith(("is", "in", "not")) else "Use + - * /."
        return refusal("operator", self.source.span(node), symbol=symbol, way=way)


def weak(value: Number, span: Span | None = None) -> Const:
    """A Python number as a constant that gives way to what it meets."""
    match value:
        case bool():
            return Const(value, ir.BOOL, span)
        case int():
            return Const(value, ir.WEAK_INT, span)
        case float():
            return Const(value, ir.WEAK_FLOAT, span)
        case complex():
            return Const(value, ir.WEAK_COMPLEX, span)
