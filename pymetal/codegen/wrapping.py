"""Integer arithmetic that overflows is written in unsigned types wherever something looks at its value.

Signed overflow is undefined in C++, and so in Metal: a compiler may take `x + 1 > x` for true. A sum that is only
returned stays `a + b`, as upstream writes it, if it is made of parameters alone: nothing can be concluded from it.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field, replace

from pymetal import dtypes, ir
from pymetal.dtypes import DType, Kind
from pymetal.ir import (
    Assign,
    Bits,
    Call,
    Cast,
    CheckedFunction,
    Concrete,
    Const,
    Expr,
    For,
    Function,
    Infix,
    Let,
    Member,
    Name,
    Overload,
    Prefix,
    Return,
    Select,
    Stmt,
    Type,
)  # fmt: skip
from pymetal.ops import python as ops

WRAPPING_ABS = """\
template <typename U>
static inline U wrapping_abs(const U a) {
  return a < U(0) ? static_cast<U>(-ulong(a)) : a;
}
"""
# Of the lowest integer `metal::abs` is undefined.
_ABS = replace(ops.ABS_INTEGER, name="abs-wrapping", text=Member("wrapping_abs", WRAPPING_ABS), promotes_to_int=False)
_SMALL = 1 << 30
_NARROW_INT = 16  # of two unsigned numbers of so many bits, the product does not fit C++'s int


def wrapping(checked: CheckedFunction, *, returned: bool) -> CheckedFunction:
    """`checked` with the arithmetic of which more than the returned low bits matter in unsigned types.

    An overload of integers and other dtypes becomes two where that changes it.

    Args:
        returned: what it returns is looked at too, by a caller in the same text.
    """
    overloads: list[Overload] = []
    for overload in checked.overloads:
        integers = tuple(d for d in overload.domain if d.kind in dtypes.INTEGRAL)
        parts = [part for part in (tuple(d for d in overload.domain if d not in integers), integers) if part]
        functions = [_Wrapping(part, returned).function(overload.function) for part in parts]
        if len(parts) == 2 and functions[0] == functions[1]:
            overloads.append(replace(overload, function=functions[0]))
        else:
            overloads += map(Overload, parts, functions)
    return checked if tuple(overloads) == checked.overloads else replace(checked, overloads=tuple(overloads))


@dataclass
class _Wrapping:
    """The rewriting of one function at some dtypes."""

    domain: tuple[DType, ...]
    returned: bool
    read: set[str] = field(default_factory=set)  # the variables whose value matters beyond what is returned
    opaque: set[str] = field(default_factory=set)  # parameters, counters, and variables of arithmetic on them
    bounds: dict[str, tuple[int, int]] = field(default_factory=dict)  # of counters and constant variables

    def function(self, function: Function) -> Function:
        """Rewrites until no more variables are found to be read."""
        assigned = [s for s in ir.statements(function.body) if isinstance(s, Let | Assign) and s.value is not None]
        self.opaque = {p.name for p in (*function.params, *function.scalars)}.union(
            s.name for s in ir.statements(function.body) if isinstance(s, Let | Assign | For)
        )
        while known_more := {s.name for s in assigned if s.value and not self._is_opaque(s.value)} & self.opaque:
            self.opaque -= known_more
        while True:
            known = len(self.read)
            body = self._block(function.body)
            if len(self.read) == known:
                return replace(function, body=body)

    def _block(self, body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        return tuple(self._statement(stmt) for stmt in body)

    def _statement(self, stmt: Stmt) -> Stmt:
        match stmt:
            case Return(value):
                return replace(stmt, value=self._value(value) if self.returned else self._low_bits(value))
            case Assign(name, value) if name not in self.read:
                return replace(stmt, value=self._low_bits(value))
            case Let(name, _, value, mutable) if value is not None:
                if not mutable and all(d.kind in dtypes.INTEGRAL for d in self._at(stmt.type)):
                    self.bounds[name] = self._values(value)
                return replace(stmt, value=self._value(value) if name in self.read else self._low_bits(value))
            case For(name, _, start, stop, step):
                (low, first), (last, high) = self._values(start), self._values(stop)
                up, down = self._values(step)[0] > 0, self._values(step)[1] < 0
                if up or down:
                    self.bounds[name] = (low, max(low, high - 1)) if up else (min(first, last + 1), first)
        return ir.rebuild(stmt, expr=self._value, block=self._block)

    def _low_bits(self, expr: Expr) -> Expr:
        """`expr` where only what is returned depends on it."""
        match expr:
            case Name():
                return expr
            case Call(op=ops.ABS_INTEGER):
                return ir.rebuild(expr, expr=self._value)
            case Call(op=op) if (op.modular or op is ops.SHL_CONSTANT) and self._is_opaque(expr):
                return ir.rebuild(expr, expr=self._low_bits)
            case Select(condition, then, otherwise):
                parts = self._value(condition), self._low_bits(then), self._low_bits(otherwise)
                return Select(*parts, expr.type)
            case Bits(value=value):
                return replace(expr, value=self._low_bits(value))
            case Cast(type_, value) if self._is_narrowing(value.type, type_):
                return replace(expr, value=self._low_bits(value))
        return self._value(expr)

    def _is_opaque(self, expr: Expr) -> bool:
        """True for arithmetic of which a compiler knows nothing but that it does not overflow: of parameters alone.

        Of `max(x, 0) + y` it knows signs, and the sum that it makes of that need not be the one that wraps.
        """
        match expr:
            case Name(name):
                return name in self.opaque
            case Const(value):
                return not isinstance(value, complex) and abs(value) < _SMALL
            case Cast(value=value):
                return self._is_opaque(value)
            case Call(op=op, args=args):
                return op.modular and all(map(self._is_opaque, args))
        return False

    def _value(self, expr: Expr) -> Expr:
        """`expr` where its value matters."""
        match expr:
            case Name(name):
                self.read.add(name)
            case Call(op=ops.ABS_INTEGER) if any(d.bits >= 32 for d in self._signed(expr.type)):
                return ir.rebuild(replace(expr, op=_ABS), expr=self._value)
            case Call() if self._overflows(expr):
                wide = any(d.bits == 64 for d in self._at(expr.type))
                return Cast(expr.type, self._unsigned(expr, Concrete(dtypes.uint64 if wide else dtypes.uint32)))
        return ir.rebuild(expr, expr=self._value)

    def _unsigned(self, expr: Expr, type_: Type) -> Expr:
        """What equals `expr` modulo the width of its type, as an unsigned number that is at least as wide."""
        match expr:
            case Call(op, args) if self._overflows(expr):
                return Call(op, tuple(self._unsigned(a, type_) for a in args), type_, expr.span)
            case Const(value) if not isinstance(value, complex) and 0 <= value < 1 << 31:
                return replace(expr, type=Concrete(dtypes.int32))  # C++ converts it to the other operand's type
        return Cast(type_, self._value(expr))

    def _overflows(self, call: Call) -> bool:
        """True for arithmetic that C++ leaves undefined for some operands."""
        if not _is_arithmetic(call):
            return False
        if call.op is ops.SHL_CONSTANT:
            return bool(self._signed(call.type))
        narrow = [d for d in self._at(call.type) if d.kind is Kind.UNSIGNED and d.bits == _NARROW_INT]
        undefined = [d for d in self._signed(call.type) if d.bits >= 32] + (narrow if call.op is ops.MUL else [])
        return bool(undefined) and not _hold(undefined, self._result(call))

    def _values(self, expr: Expr) -> tuple[int, int]:
        """The lowest and the highest value that an integer may have, as far as its parts tell."""
        match expr:
            case Const(value) if isinstance(value, int):
                return value, value
            case Name(name) if name in self.bounds:
                return self.bounds[name]
            case Call(op=op) if (
                op.fold and _is_arithmetic(expr) and _hold(self._at(expr.type), result := self._result(expr))
            ):
                return result
            case Cast(type_, value) if all(d.kind in dtypes.INTEGRAL for d in self._at(value.type)):
                values = self._values(value)
                if _hold(self._at(type_), values):
                    return values
        limits = [d.limits for d in self._at(expr.type)]
        return min(low for low, _ in limits), max(high for _, high in limits)

    def _result(self, call: Call) -> tuple[int, int]:
        """The lowest and the highest result of arithmetic on integers, before it wraps."""
        assert call.op.fold is not None
        ends = [call.op.fold(*values) for values in itertools.product(*map(self._values, call.args))]
        return min(ends), max(ends)

    def _is_narrowing(self, source: Type, target: Type) -> bool:
        """True for a conversion between integers that keeps no more than the low bits."""
        pairs = list(zip(self._at(source), self._at(target), strict=True))
        numbers = (Kind.SIGNED, Kind.UNSIGNED)
        return all(a.kind in numbers and b.kind in numbers and b.bits <= a.bits for a, b in pairs)

    def _signed(self, type_: Type) -> list[DType]:
        return [d for d in self._at(type_) if d.kind is Kind.SIGNED]

    def _at(self, type_: Type) -> list[DType]:
        return [ir.resolved(type_, d) for d in self.domain]


def _hold(types: list[DType], values: tuple[int, int]) -> bool:
    """True if all of `types` hold all of the values from the first to the second."""
    return all(low <= values[0] and values[1] <= high for low, high in (d.limits for d in types))


def _is_arithmetic(call: Call) -> bool:
    return bool(call.op.overflow) and isinstance(call.op.text, Infix | Prefix)
