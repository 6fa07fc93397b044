"""The nodes of the intermediate representation: typed, frozen, and the same for every walker.

A functor's body becomes one :class:`Function` for each group of dtypes. Types are symbolic: one function serves all
dtypes of its domain, and :func:`resolve` says what a type is at one of them. Expressions have values; statements bind,
branch, repeat or return. Nothing here knows a particular operator: rows live in :mod:`pymetal.ops`.
"""

from __future__ import annotations

# Re-exported: other rooms write `ir.NAME`.
from pymetal.ir.nodes import Assign as Assign
from pymetal.ir.nodes import Bits as Bits
from pymetal.ir.nodes import Break as Break
from pymetal.ir.nodes import Call as Call
from pymetal.ir.nodes import Cast as Cast
from pymetal.ir.nodes import CheckedFunction as CheckedFunction
from pymetal.ir.nodes import Const as Const
from pymetal.ir.nodes import Continue as Continue
from pymetal.ir.nodes import Element as Element
from pymetal.ir.nodes import Expr as Expr
from pymetal.ir.nodes import For as For
from pymetal.ir.nodes import Function as Function
from pymetal.ir.nodes import If as If
from pymetal.ir.nodes import Invoke as Invoke
from pymetal.ir.nodes import Let as Let
from pymetal.ir.nodes import Name as Name
from pymetal.ir.nodes import Overload as Overload
from pymetal.ir.nodes import Param as Param
from pymetal.ir.nodes import Return as Return
from pymetal.ir.nodes import Select as Select
from pymetal.ir.nodes import Stmt as Stmt
from pymetal.ir.nodes import Table as Table
from pymetal.ir.nodes import While as While
from pymetal.ir.op import Field as Field
from pymetal.ir.op import Infix as Infix
from pymetal.ir.op import Member as Member
from pymetal.ir.op import Named as Named
from pymetal.ir.op import Op as Op
from pymetal.ir.op import Prefix as Prefix
from pymetal.ir.op import Text as Text
from pymetal.ir.op import TypeRule as TypeRule
from pymetal.ir.op import Wrapped as Wrapped
from pymetal.ir.passes import remove_dead_code as remove_dead_code
from pymetal.ir.passes import restrict_callees as restrict_callees
from pymetal.ir.passes import unique_names as unique_names
from pymetal.ir.types import APPLY as APPLY
from pymetal.ir.types import BOOL as BOOL
from pymetal.ir.types import FLOAT as FLOAT
from pymetal.ir.types import WEAK_COMPLEX as WEAK_COMPLEX
from pymetal.ir.types import WEAK_FLOAT as WEAK_FLOAT
from pymetal.ir.types import WEAK_INT as WEAK_INT
from pymetal.ir.types import WEAK_LONG as WEAK_LONG
from pymetal.ir.types import ComplexOf as ComplexOf
from pymetal.ir.types import Concrete as Concrete
from pymetal.ir.types import Number as Number
from pymetal.ir.types import OpMath as OpMath
from pymetal.ir.types import RealOf as RealOf
from pymetal.ir.types import Type as Type
from pymetal.ir.types import Var as Var
from pymetal.ir.types import Weak as Weak
from pymetal.ir.types import resolve as resolve
from pymetal.ir.types import resolved as resolved
from pymetal.ir.walk import blocks as blocks
from pymetal.ir.walk import callees as callees
from pymetal.ir.walk import depth as depth
from pymetal.ir.walk import expressions as expressions
from pymetal.ir.walk import operands as operands
from pymetal.ir.walk import own_expressions as own_expressions
from pymetal.ir.walk import rebuild as rebuild
from pymetal.ir.walk import statements as statements
from pymetal.ir.walk import subexpressions as subexpressions
from pymetal.ir.walk import uses as uses
