"""Lowering of expressions: an `ast.expr` becomes a typed `ir.Expr`."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pymetal import dtypes, ir
from pymetal.dtypes import Kind, bool_
from pymetal.errors import PyMetalError, Span
from pymetal.frontend import calls, static_iteration
from pymetal.frontend.arithmetic import Arithmetic, number, weak
from pymetal.frontend.builtin_calls import PARTS, lower_part
from pymetal.frontend.common_subexpressions import CommonSubexpressions
from pymetal.frontend.comparisons import lower_compare
from pymetal.frontend.context import Define, Env
from pymetal.frontend.liveness import NO_NAMES, Names
from pymetal.frontend.names import describe, frozen_number, is_dotted, root, static_value
from pymetal.frontend.refusals import SYMBOLS, construct
from pymetal.frontend.source import Source
from pymetal.frontend.suggestions import methods
from pymetal.frontend.typing import Typing
from pymetal.ir import Const, Element, Expr, Op, Select, Table, Type
from pymetal.ops import python as ops

_BINARY: dict[type[ast.operator], Op] = {
    ast.Add: ops.ADD, ast.Sub: ops.SUB, ast.Mult: ops.MUL, ast.Div: ops.TRUEDIV, ast.FloorDiv: ops.FLOORDIV,
    ast.Mod: ops.MOD, ast.BitAnd: ops.BITAND, ast.BitOr: ops.BITOR, ast.BitXor: ops.BITXOR,
}  # fmt: skip
_SHIFTS = {ast.LShift: (ops.SHL, ops.SHL_CONSTANT), ast.RShift: (ops.SHR, ops.SHR_CONSTANT)}
_UNARY: dict[type[ast.unaryop], Op] = {ast.USub: ops.NEG, ast.Invert: ops.INVERT}
_BOOLEAN: dict[type[ast.boolop], Op] = {ast.And: ops.AND, ast.Or: ops.OR}
_MAX_TABLE = 4096


_INTEGER_TABLES: tuple[tuple[tuple[int, int], Type], ...] = (
    (dtypes.int32.limits, ir.WEAK_INT), (dtypes.int64.limits, ir.WEAK_LONG),
    (dtypes.uint64.limits, ir.Concrete(dtypes.uint64)),
)  # fmt: skip


class ExpressionLowering:
    """Lowers the expressions of one function, for one group of dtypes."""

    def __init__(self, source: Source, typing: Typing, body_type: Type, define: Define) -> None:
        self.source = source
        self.define = define
        self.typing = typing
        self.subexpressions = CommonSubexpressions(source, typing)
        self.arithmetic = Arithmetic(typing, self.subexpressions)
        self.body_type = body_type  # what the element type means inside the body
        self.local_names: Names = NO_NAMES  # what the body assigns: never looked up outside it

    def lower(self, node: ast.expr, env: Env) -> Expr:
        """The typed expression of `node`.

        Raises:
            PyMetalError: some part of it cannot become Metal, or does not type-check.
        """
        return self.subexpressions.check_size(self._lower(node, env), self.source.span(node))

    def _lower(self, node: ast.expr, env: Env) -> Expr:
        match node:
            case ast.Constant(value=value):
                return self._constant(node, value)
            case ast.Attribute(value=base, attr=attr) if not is_dotted(node) or root(node) in env:
                return self._part(node, base, attr, env)
            case ast.Name() | ast.Attribute():
                return self._name(node, env)
            case ast.BinOp(left=left, op=operator, right=right):
                return self._binary(node, operator, self.lower(left, env), self.lower(right, env))
            case ast.UnaryOp(op=ast.UAdd(), operand=operand):
                return self._plus(node, self.lower(operand, env))
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                condition = self.lower_condition(operand, env)
                return self.arithmetic.apply(ops.NOT, [condition], self.source.span(node))
            case ast.UnaryOp(op=unary, operand=operand):
                return self.arithmetic.apply(_UNARY[type(unary)], [self.lower(operand, env)], self.source.span(node))
            case ast.BoolOp():
                operands = (self._bool_operand(node, value, env) for value in node.values)
                return self.short_circuit(_BOOLEAN[type(node.op)], operands, self.source.span(node))
            case ast.Compare():
                return lower_compare(self, node, env)
            case ast.IfExp(test=test, body=then, orelse=otherwise):
                return self._conditional(node, test, then, otherwise, env)
            case ast.Call():
                return calls.lower_call(self, node, env)
            case ast.Subscript():
                return self._subscript(node, env)
            case _:
                raise self._refuse_construct(node)

    def _refuse_construct(self, node: ast.expr) -> PyMetalError:
        what, hint = construct(node)
        return self.source.refusal("expression", node, what=what, hint=hint)

    def lower_condition(self, node: ast.expr, env: Env) -> Expr:
        """Python's truth value of an expression, as a bool."""
        if isinstance(node, ast.BoolOp):
            span, operands = self.source.span(node), (self.lower_condition(value, env) for value in node.values)
            return self.subexpressions.check_size(self.short_circuit(_BOOLEAN[type(node.op)], operands, span), span)
        return self.truth(self.lower(node, env), self.source.span(node))

    def truth(self, value: Expr, span: Span) -> Expr:
        """Python's truth value of a number: whether it is not zero."""
        if self.is_bool(value):
            return self.arithmetic.convert(value, ir.BOOL)
        constant = number(value)
        if constant is not None:
            return weak(bool(constant), span)
        return self.arithmetic.apply(ops.NE, [value, weak(0, span)], span)

    def is_bool(self, value: Expr) -> bool:
        """True for a value whose type is bool at every dtype."""
        return value.type == ir.BOOL or self.typing.kinds(value.type) == {Kind.BOOL}

    def lower_results(self, node: ast.Call, env: Env) -> list[Expr] | None:
        """The values of a call of a function with several results; None for other calls."""
        return calls.lower_results(self, node, env)

    def element_type(self, type_: Type) -> Type:
        """A type as written, with the element type replaced by what it means in this body."""
        return self.typing.substitute(type_, self.body_type)

    # --- constants, names, attributes, tables ---

    def _constant(self, node: ast.expr, value: object) -> Expr:
        if isinstance(value, (bool, int, float, complex)):
            return weak(value, self.source.span(node))
        raise self.source.refusal("constant", node, what=repr(value) if value is not ... else "`...`")

    def _name(self, node: ast.expr, env: Env) -> Expr:
        name = ast.unparse(node)
        if root(node) in env:
            binding = env[root(node)]
            if binding.items is not None:
                raise self._refuse_construct(ast.copy_location(ast.Tuple([], ast.Load()), node))
            if not binding.assigned:
                hint = "Assign it before the branch, or on every path."
                raise self.source.refusal("unset", node, name=name, when="assigned on some paths only", hint=hint)
            return binding.value
        if root(node) in self.local_names:
            hint = "Assign it above."
            raise self.source.refusal("unset", node, name=name, when="used before it is assigned", hint=hint)
        value = static_value(self.source, node, [*env, *self.local_names])
        constant = frozen_number(value)
        if constant is not None:
            return weak(constant, self.source.span(node))
        raise self.source.refusal("not-a-value", node, name=name, what=describe(value))

    def _part(self, node: ast.expr, base: ast.expr, attr: str, env: Env) -> Expr:
        """`z.real` and `z.imag`."""
        value, span = self.lower(base, env), self.source.span(node)
        if attr not in PARTS:
            hint = f"Write {ast.unparse(node)}()." if attr in methods() else "Values have `.real` and `.imag` only."
            raise self.source.refusal("expression", node, what=f"`.{attr}` of a value", hint=hint)
        return lower_part(self, value, attr, span)

    def lower_table(self, node: ast.expr, env: Env, inline: bool = False) -> Table | None:
        """The tuple of numbers that a name outside the body stands for, or, if `inline`, that `node` writes out."""
        local = isinstance(node, ast.Name) and node.id in env
        items = static_iteration.lazy_items(self, node, env) if local or (inline and not is_dotted(node)) else None
        value: object
        if items is not None:
            constants = [None if isinstance(item, tuple) else number(item) for item in items]
            value, name = tuple(constants) if None not in constants else None, "TABLE"
            if isinstance(node, ast.Name) and isinstance(local_name := env[node.id].value, ir.Name):
                name = local_name.name
        elif not is_dotted(node) or root(node) in env or root(node) in self.local_names:
            return None
        else:
            value = static_value(self.source, node)
            name = ast.unparse(node).replace(".", "_")
        if not isinstance(value, (tuple, list)):
            return None
        text, numbers = ast.unparse(node), tuple(map(frozen_number, value))
        values = tuple(v for v in numbers if isinstance(v, (int, float)) and not isinstance(v, bool))
        if not values or len(values) < len(numbers):
            raise self.source.refusal("table", node, name=text, what="numbers")
        if any(isinstance(v, float) for v in values) and all(
            abs(v) < 1 << 1023 or isinstance(v, float) for v in values
        ):
            return Table(name, values, ir.WEAK_FLOAT)
        for limits, type_ in _INTEGER_TABLES:
            if all(limits[0] <= v <= limits[1] for v in values):
                return Table(name, values, type_)
        raise self.source.refusal("table", node, name=text, what="numbers of at most 64 bits, sign included")

    def _subscript(self, node: ast.Subscript, env: Env) -> Expr:
        base, index = node.value, node.slice
        item = static_iteration.subscript(self, node, env)
        if isinstance(item, tuple):
            raise self._refuse_construct(ast.copy_location(ast.Tuple([], ast.Load()), node))
        if item is not None:
            return item
        table = self.lower_table(base, env)
        if table is None:
            raise self._refuse_construct(node)
        position = self.lower(index, env)
        size = len(table.values)
        if size > _MAX_TABLE:
            raise self.source.refusal("table-size", node, name=table.name, size=size, most=_MAX_TABLE)
        bounds = env[index.id].bounds if isinstance(index, ast.Name) and index.id in env else None
        if bounds is None or not 0 <= bounds[0] <= bounds[1] < size:
            what = "this may be outside"
            raise self.source.refusal("table-index", index, name=table.name, size=size, what=what)
        return Element(table, position, table.type)

    # --- operators ---

    def _binary(self, node: ast.expr, operator: ast.operator, left: Expr, right: Expr) -> Expr:
        span = self.source.span(node)
        match operator:
            case ast.Pow():
                return self.arithmetic.power(left, right, span)
            case ast.LShift() | ast.RShift():
                op, constant_op = _SHIFTS[type(operator)]
                return self.arithmetic.shift(op, constant_op, left, right, span)
            case ast.MatMult():
                hint = "Elements are numbers: multiply with `*`."
                raise self.source.refusal("operator", node, symbol="@", hint=hint)
            case _:
                return self.arithmetic.apply(_BINARY[type(operator)], [left, right], span)

    def _plus(self, node: ast.expr, value: Expr) -> Expr:
        if self.typing.kinds(value.type) == {Kind.BOOL}:
            constant = number(value)
            if constant is not None:
                return weak(+constant, self.source.span(node))
            raise self.source.refusal("operand-kind", node, op="+", type=bool_, hint="Write pymetal.int64(x).")
        return value

    def _bool_operand(self, node: ast.BoolOp, operand: ast.expr, env: Env) -> Expr:
        """An operand of `and` or `or` whose value is kept: of numbers, Python's value is one of the operands."""
        value = self.lower(operand, env)
        if not self.is_bool(value):
            word, (a, b) = SYMBOLS[type(node.op)], [ast.unparse(v) for v in node.values[:2]]
            raise self.source.refusal(
                "not-bool", operand, what=f"the value of `{word}`", type=self.typing.describe(value.type),
                operand=f"{b} if {a} else {a}" if word == "and" else f"{a} if {a} else {b}",
                truth=f" {word} ".join(f"bool({ast.unparse(v)})" for v in node.values),
            )  # fmt: skip
        return self.arithmetic.convert(value, ir.BOOL)

    def short_circuit(self, op: Op, conditions: Iterator[Expr], span: Span) -> Expr:
        """The conditions connected by AND or OR; those after the first are lowered as evaluated conditionally."""
        result: Expr | None = None
        rollback = self.subexpressions.checkpoint()
        while True:
            with self.subexpressions.conditionally(result is not None):
                condition = next(conditions, None)
            if condition is None:
                return result if result is not None else weak(op is ops.AND, span)
            result = self._connect(op, result, condition, span)
            if isinstance(result, Const):
                rollback()  # what follows is not computed, and what came before makes no difference
                if bool(result.value) is (op is ops.OR):
                    return result
                result = None

    def _connect(self, op: Op, result: Expr | None, condition: Expr, span: Span) -> Expr:
        """`result and condition` or `result or condition`, without what is known at compile time."""
        if result is None:
            return condition
        absorbing = op is ops.OR  # the operand that decides the result
        for known, other in ((result, condition), (condition, result)):
            if isinstance(known, Const):
                return weak(absorbing, span) if bool(known.value) is absorbing else other
        return self.arithmetic.apply(op, [result, condition], span)

    def _conditional(self, node: ast.expr, test: ast.expr, then: ast.expr, otherwise: ast.expr, env: Env) -> Expr:
        condition = self.lower_condition(test, env)
        if isinstance(condition, Const):
            return self.lower(then if condition.value else otherwise, env)
        with self.subexpressions.conditionally():
            a, b = self.lower(then, env), self.lower(otherwise, env)
        joined = self.arithmetic.join(a.type, b.type, self.source.span(node))
        return Select(condition, self.arithmetic.convert(a, joined), self.arithmetic.convert(b, joined), joined)
