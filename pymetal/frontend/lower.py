"""Lowering of a function: a `Source` and a group of dtypes become an `ir.Function`, statement by statement."""

from __future__ import annotations

import ast

from pymetal import ir
from pymetal.dtypes import DType, Kind, listed
from pymetal.errors import PyMetalError, plural
from pymetal.frontend import static_iteration
from pymetal.frontend.annotations import Signature, parse_type
from pymetal.frontend.arithmetic import number, weak
from pymetal.frontend.common_subexpressions import InsertionPoint
from pymetal.frontend.context import Binding, Block, Define, Env, Item, Loop
from pymetal.frontend.control_flow import lower_if
from pymetal.frontend.desugar import desugar
from pymetal.frontend.expressions import ExpressionLowering
from pymetal.frontend.liveness import NO_NAMES, assigned_names, liveness
from pymetal.frontend.loops import lower_exit, lower_for, lower_while
from pymetal.frontend.refusals import construct, is_refused
from pymetal.frontend.several_results import elements, returned_value
from pymetal.frontend.source import Source
from pymetal.frontend.typing import Typing
from pymetal.frontend.variables import Variables
from pymetal.frontend.ways_out import for_return
from pymetal.ir import Const, Expr, Function, Name, Param, Return, Type

_MAX_PASSES = 64


def lower(
    source: Source, signature: Signature, domain: tuple[DType, ...], body: Type, result: Type, define: Define
) -> Function:
    """The body of `source`, typed for a group of dtypes of one kind.

    Args:
        body: what the element type means inside the body.
        result: the type that the functor returns.
        define: type-checks the plain functions that it calls.

    Raises:
        PyMetalError: the body cannot become Metal, or does not type-check.
    """
    return FunctionLowering(source, signature, domain, body, result, define).run()


class FunctionLowering:
    """Lowers the statements of one function, for one group of dtypes."""

    def __init__(
        self, source: Source, signature: Signature, domain: tuple[DType, ...], body: Type, result: Type, define: Define
    ) -> None:
        self.source = source
        self.signature = signature
        self.typing = Typing(domain)
        self.expressions = ExpressionLowering(source, self.typing, body, define)
        self.variables = Variables(self.expressions)
        self.result = result
        self.is_result_known = not signature.inferred
        self.statements = desugar(source, _without_docstring(source.node.body))
        self.expressions.local_names = assigned_names(self.statements)
        self.liveness = liveness(self.statements)

    def run(self) -> Function:
        """Lowers the body until the types of its variables no longer change."""
        if not self.statements:
            raise self.source.refusal("empty-body", self.source.node, functor=self.source.node.name)
        self._check_constructs()
        for _ in range(_MAX_PASSES):
            self.variables.start_pass()
            self.loops: list[Loop] = []
            self.unrolled: tuple[int, ...] = ()  # the iteration of each unrolled loop around the current statement
            self.folded: set[ast.AST] = set()  # branches and loops that are decided at compile time
            function = self._lower_function()
            if not self.variables.changed:
                return function
        raise AssertionError("the types of variables do not converge")  # each join widens, and there are few types

    def _check_constructs(self) -> None:
        """Refuses what no functor has, in branches that are compiled away as well."""
        for parameter in getattr(self.source.node, "type_params", []):
            hint = "Annotate with pymetal.T, or with Floating, Integral and the like."
            raise self.source.refusal("statement", parameter, what="a type parameter", hint=hint)
        for node in (node for stmt in self.statements for node in ast.walk(stmt)):
            if is_refused(node):
                what, hint = construct(node)
                slug = "statement" if isinstance(node, ast.stmt) else "expression"
                raise self.source.refusal(slug, node, what=what, hint=hint)

    def _lower_function(self) -> Function:
        element_type, convert = self.expressions.element_type, self.expressions.arithmetic.convert
        params = tuple(Param(name, a.type) for name, a in self.signature.tensors)
        scalars = tuple(Param(s.name, element_type(s.type), s.default) for s in self.signature.scalars)
        env = {p.name: Binding(convert(Name(p.name, p.type), element_type(p.type))) for p in params}
        env |= {s.name: Binding(Name(s.name, element_type(s.annotation.type))) for s in self.signature.scalars}
        env |= {name: Binding(weak(value)) for name, value in self.signature.constants}
        self.variables.used_names |= set(env)
        block = Block(NO_NAMES)
        for name in sorted(self.variables.copied):
            value, key = env[name].value, ("parameter", name)
            self.variables.variable(key, value.type)  # branches may have widened it
            env[name] = self.variables.declare(name, key, value, block)
        _, falls_through = self.lower_block(self.statements, env, block)
        if falls_through:
            raise self.source.refusal("missing-return", self.source.node, functor=self.source.node.name)
        return Function(params, scalars, self.result, tuple(block.statements))

    def lower_block(self, stmts: list[ast.stmt], env: Env, block: Block) -> tuple[Env, bool]:
        """Appends the statements to `block`; the bindings after them, and whether control can leave by their end."""
        falls_through = True
        last: ast.stmt | None = None
        for stmt in stmts:
            if last is not None and not falls_through:
                if not self.folded.isdisjoint(ast.walk(last)):
                    break  # other dtypes take the other branch, and get here
                raise self.source.refusal("unreachable", stmt)
            with self.expressions.subexpressions.insert_at(self._insertion_point(stmt, block)):
                env, falls_through = self._lower_statement(stmt, env, block)
            last = stmt
        return env, falls_through

    def _insertion_point(self, stmt: ast.stmt, block: Block) -> InsertionPoint:
        """The end of `block`, where the common subexpressions of `stmt` are declared."""

        def declare(name: str, number: int, value: Expr) -> Expr:
            key = ("subexpression", stmt, number, self.unrolled)
            return self.variables.declare_new(name, key, value, value.type, block)

        return InsertionPoint(block.statements, declare)

    def _lower_statement(self, stmt: ast.stmt, env: Env, block: Block) -> tuple[Env, bool]:
        span = self.variables.span = self.source.span(stmt)
        lower = self.expressions.lower
        match stmt:
            case ast.Pass():
                return env, True
            case ast.Return(value=value):
                if value is None:
                    raise self.source.refusal("bare-return", stmt)
                block.statements.append(Return(self._return_value(value, env), span))
                return env, False
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                return self.assign(
                    name, static_iteration.evaluate(self.expressions, value, env), stmt, env, block
                ), True
            case ast.Assign(targets=[ast.Tuple() | ast.List() as target], value=value):
                return self._assign_tuple(stmt, target, value, env, block), True
            case ast.Assign(targets=targets, value=value):
                return self._assign_chain(stmt, targets, value, env, block), True
            case ast.AnnAssign(target=ast.Name(id=name), annotation=annotation, value=value) if value is not None:
                type_ = self.expressions.element_type(parse_type(self.source, annotation).type)
                converted = self.variables.convert_annotated(lower(value, env), type_, name, stmt)
                return self.assign(name, converted, stmt, env, block, annotated=True), True
            case ast.AugAssign(target=ast.Name(id=name) as target, op=operator, value=value):
                read = ast.copy_location(ast.Name(name, ast.Load()), target)
                whole = ast.copy_location(ast.BinOp(read, operator, value), stmt)
                return self.assign(name, lower(whole, env), stmt, env, block), True
            case ast.If():
                return lower_if(self, stmt, env, block)
            case ast.While():
                return lower_while(self, stmt, env, block)
            case ast.For():
                return lower_for(self, stmt, env, block)
            case ast.Break() | ast.Continue():
                return lower_exit(self, stmt, env, block)
            case ast.Assert(test=test, msg=message):
                self._check_assert(stmt, test, message, env)
                return env, True
            case ast.AnnAssign(target=target) | ast.AugAssign(target=target):
                what = "a name without a value" if isinstance(target, ast.Name) else construct(target)[0]
                raise self.source.refusal("target", stmt, what=what)
            case ast.Expr(value=value):
                hint = "Assign its value, or remove it."
                raise self.source.refusal("statement", value, what="an expression without effect", hint=hint)
            case _:
                what, hint = construct(stmt)
                raise self.source.refusal("statement", stmt, what=what, hint=hint)

    # --- assignments ---

    def assign(self, name: str, value: Item, stmt: ast.stmt, env: Env, block: Block, annotated: bool = False) -> Env:
        """The bindings after `name = value`."""
        key = ("here", name, stmt, self.unrolled)
        if isinstance(value, tuple):
            return self.variables.assign_items(name, value, key, env, block, stmt)
        return self.variables.assign(name, value, key, env, block, stmt, annotated)

    def _assign_tuple(self, stmt: ast.Assign, target: ast.expr, value: ast.expr, env: Env, block: Block) -> Env:
        """`q, r = a, b` and `q, r = divmod(a, b)`: all values are computed before the first is assigned."""
        names = assigned_names([target])

        def wrong(place: ast.AST, found: int) -> PyMetalError:
            wanted = plural(len(names), "name")
            return self.source.refusal("unpack", place, wanted=wanted, found=plural(found, "value"))

        if isinstance(value, ast.IfExp):
            parts = elements(value, len(names), lambda call: len(self._items(call, env)), wrong)
            computed: Item = tuple(self.expressions.lower(part, env) for part in parts)
        else:
            computed = static_iteration.evaluate(self.expressions, value, env)
        saved, assigned = [], set[Expr]()  # the old values of the targets before this one
        for index, (name, item) in enumerate(static_iteration.bind_target(self.source, target, computed)):
            key = ("saved", name, stmt, index, self.unrolled)
            if isinstance(item, tuple):
                item = self.variables.keep(item, name, key, env, block)
            elif assigned.intersection(ir.subexpressions(item)):
                item = self.variables.declare_new(f"{name}_next", key, item, item.type, block)
            saved.append((name, item))
            if name in env:
                assigned.add(env[name].value)
        for name, item in saved:
            env = self.assign(name, item, stmt, env, block)
        return env

    def _assign_chain(self, stmt: ast.Assign, targets: list[ast.expr], value: ast.expr, env: Env, block: Block) -> Env:
        """`a = b = value`: the value is computed once."""
        names = self._target_names(targets)
        computed = self.expressions.lower(value, env)
        for name in names:
            env = self.assign(name, computed, stmt, env, block)
            computed = env[name].value if number(computed) is None else computed
        return env

    def _target_names(self, targets: list[ast.expr]) -> list[str]:
        other = next((t for t in targets if not isinstance(t, ast.Name)), None)
        if other is not None:
            raise self.source.refusal("target", other, what=construct(other)[0])
        return [t.id for t in targets if isinstance(t, ast.Name)]

    def _items(self, value: ast.expr, env: Env) -> tuple[Item, ...]:
        """The items of a sequence; a value of another kind is one."""
        item = static_iteration.evaluate(self.expressions, value, env)
        return item if isinstance(item, tuple) else (item,)

    # --- return and assert ---

    def _return_value(self, node: ast.expr, env: Env) -> Expr:
        lower, source, signature = self.expressions.lower, self.source, self.signature
        value = returned_value(source, signature, node, env, lower, self._items)
        if signature.inferred:
            self._infer_result(value.type)
        kinds = self.typing.kinds(value.type) | self.typing.kinds(self.result)
        # A wider integer keeps its low bits, as torch casts a result within its kind; a Python number must fit.
        narrowed = kinds <= {Kind.SIGNED, Kind.UNSIGNED} and number(value) is None
        if not narrowed and not self.variables.is_assignable(value, self.result):
            describe = self.typing.describe
            raise self.source.refusal(
                "return-type", node, found=describe(value.type), wanted=describe(self.result),
                hint=for_return(source, signature, node, self.result, self.typing, value.type),
            )  # fmt: skip
        return self.expressions.arithmetic.convert(value, self.result)

    def _infer_result(self, returned: Type) -> None:
        """Widens the result type, of a function without one, so that it also holds what is returned here."""
        joined = returned if not self.is_result_known else self.typing.join(self.result, returned)
        if joined is not None and joined != self.result:
            self.result, self.variables.changed = joined, True
        self.is_result_known = True

    def _check_assert(self, stmt: ast.Assert, test: ast.expr, message: ast.expr | None, env: Env) -> None:
        """Checks a condition at compile time; it leaves no text."""
        condition = self.expressions.lower_condition(test, env)
        if not isinstance(condition, Const):
            hint = (
                "A kernel cannot raise: check the tensors before the call, or return math.nan. Facts can be asserted."
            )
            raise self.source.refusal("statement", stmt, what="`assert` of values", hint=hint)
        if not condition.value:
            text = message.value if isinstance(message, ast.Constant) else ast.unparse(test)
            hint, at = "Narrow dtypes= or the annotation.", f" for {listed(self.typing.domain)}"
            raise self.source.refusal("assertion", stmt, at=at, text=text, hint=hint)


def _without_docstring(body: list[ast.stmt]) -> list[ast.stmt]:
    match body:
        case [ast.Expr(value=ast.Constant(value=str())), *rest]:
            return rest
        case _:
            return body
