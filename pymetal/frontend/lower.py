"""A `Source` and a group of dtypes become an `ir.Function`: its parameters, and its statements in order."""

from __future__ import annotations

import ast

from pymetal import ir
from pymetal.dtypes import DType, Kind
from pymetal.frontend import control_flow as paths
from pymetal.frontend import loops
from pymetal.frontend.annotations import Signature, parse_type
from pymetal.frontend.arithmetic import number, weak
from pymetal.frontend.common_subexpressions import Place
from pymetal.frontend.context import Binding, Block, Env, Loop
from pymetal.frontend.expressions import Expressions
from pymetal.frontend.liveness import NONE, Live, assigned, liveness
from pymetal.frontend.names import is_dotted, static_value
from pymetal.frontend.refusals import construct, is_refused, refusal
from pymetal.frontend.source import Source
from pymetal.frontend.typing import Typing
from pymetal.frontend.variables import Variables
from pymetal.ir import Const, Expr, Function, Name, Param, Return, Stmt, Type
from pymetal.ops import python as ops

_MAX_PASSES = 64


def lower(source: Source, signature: Signature, domain: tuple[DType, ...], body: Type, result: Type) -> Function:
    """The body of `source`, typed for a group of dtypes of one kind.

    Args:
        body: what the element type means inside the body.
        result: the type that the functor returns.

    Raises:
        PyMetalError: the body cannot become Metal, or does not type-check.
    """
    return Lowering(source, signature, domain, body, result).run()


class Lowering:
    """The statements of one function, for one group of dtypes."""

    def __init__(
        self, source: Source, signature: Signature, domain: tuple[DType, ...], body: Type, result: Type
    ) -> None:
        self.source = source
        self.signature = signature
        self.expressions = Expressions(source, Typing(domain), body)
        self.variables = Variables(self.expressions)
        self.result = result
        self.statements = _without_docstring(source.node.body)
        self.expressions.local_names = assigned(self.statements)
        self.liveness = liveness(self.statements)

    def run(self) -> Function:
        """Lowers until the types of the variables no longer change."""
        if not self.statements:
            raise refusal("empty-body", self.source.span(self.source.node), functor=self.source.node.name)
        self._check_constructs()
        for _ in range(_MAX_PASSES):
            self.variables.start_pass()
            self.loops: list[Loop] = []
            self.unrolled: tuple[int, ...] = ()  # the round of each static_range around the current statement
            self.blocks = 0
            self.folded: set[ast.AST] = set()  # branches and loops decided when the functor is compiled
            function = self._function()
            if not self.variables.changed:
                return function
        raise AssertionError("the types of variables do not settle")  # joins only go up a finite ladder

    def _check_constructs(self) -> None:
        """Refuses what no functor has, also where it would be compiled away."""
        for parameter in getattr(self.source.node, "type_params", []):
            way = "Annotate with pymetal.T, or Floating, Integral and their kin."
            raise refusal("statement", self.source.span(parameter), what="a type parameter", way=way)
        for stmt in self.statements:
            for node in ast.walk(stmt):
                if is_refused(node):
                    what, way = construct(node)
                    slug = "statement" if isinstance(node, ast.stmt) else "expression"
                    raise refusal(slug, self.source.span(node), what=what, way=way)

    def _function(self) -> Function:
        element, convert = self.expressions.element, self.expressions.arithmetic.convert
        params = tuple(Param(name, a.type) for name, a in self.signature.tensors)
        scalars = tuple(Param(name, element(a.type), default) for name, a, default, _ in self.signature.scalars)
        env: dict[str, Binding] = {}
        for param in params:
            env[param.name] = Binding(convert(Name(param.name, param.type), element(param.type)), None, 0)
        for param in scalars:
            env[param.name] = Binding(Name(param.name, param.type), None, 0)
        self.variables.taken |= set(env)
        block = self.new_block(NONE)
        head: list[Stmt] = []
        for name in sorted(self.variables.copied):
            value, key = env[name].value, ("parameter", name)
            self.variables.slot(key, value.type)  # branches may have widened it
            env[name] = self.variables.declare(head, name, key, value, block)
        body, _, falls = self.block(self.statements, env, block)
        if falls:
            raise refusal("missing-return", self.source.span(self.source.node), functor=self.source.node.name)
        return Function(params, scalars, self.result, (*head, *body))

    # --- blocks ---

    def new_block(self, live: Live) -> Block:
        """A block of the text, with the names that are wanted after it."""
        self.blocks += 1
        return Block(self.blocks, live)

    def block(self, stmts: list[ast.stmt], env: Env, block: Block) -> tuple[list[Stmt], Env, bool]:
        """The statements of a block, the names after it, and whether control can leave by its end."""
        out: list[Stmt] = []
        falls = True
        last: ast.stmt | None = None
        for stmt in stmts:
            if last is not None and not falls:
                if not self.folded.isdisjoint(ast.walk(last)):
                    break  # other dtypes take the other branch, and get here
                raise refusal("unreachable", self.source.span(stmt))
            with self.expressions.sharing.before(self._before(stmt, out, block)):
                env, falls = self._statement(stmt, out, env, block)
            last = stmt
        return out, env, falls

    def _before(self, stmt: ast.stmt, out: list[Stmt], block: Block) -> Place:
        """The end of `out`, where the values that `stmt` shares are declared."""

        def declare(name: str, number: int, value: Expr) -> Expr:
            key = ("shared", stmt, number, self.unrolled)
            self.variables.register(key, value.type)
            return self.variables.declare(out, name, key, value, block).value

        return Place(out, declare)

    def _statement(self, stmt: ast.stmt, out: list[Stmt], env: Env, block: Block) -> tuple[Env, bool]:
        span = self.variables.span = self.source.span(stmt)
        match stmt:
            case ast.Pass():
                return env, True
            case ast.Return(value=value):
                if value is None:
                    raise refusal("bare-return", span)
                out.append(Return(self._returned(value, env), span))
                return env, False
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                return self.assign(name, self.expressions.lower(value, env), stmt, out, env, block), True
            case ast.Assign(targets=[ast.Tuple(elts=targets)], value=value):
                return self._unpack(stmt, targets, value, out, env, block), True
            case ast.Assign(targets=targets, value=value):
                return self._several(stmt, targets, value, out, env, block), True
            case ast.AnnAssign(target=ast.Name(id=name), annotation=annotation, value=value) if value is not None:
                pinned = self.expressions.element(parse_type(self.source, annotation).type)
                lowered = self.variables.fit(self.expressions.lower(value, env), pinned, name, stmt)
                return self.assign(name, lowered, stmt, out, env, block, pinned=True), True
            case ast.AugAssign(target=ast.Name(id=name) as target, op=operator, value=value):
                read = ast.copy_location(ast.Name(name, ast.Load()), target)
                whole = ast.copy_location(ast.BinOp(read, operator, value), stmt)
                return self.assign(name, self.expressions.lower(whole, env), stmt, out, env, block), True
            case ast.If():
                return paths.lower_if(self, stmt, out, env, block)
            case ast.While():
                return loops.lower_while(self, stmt, out, env, block)
            case ast.For():
                return loops.lower_for(self, stmt, out, env, block)
            case ast.Break() | ast.Continue():
                return loops.lower_exit(self, stmt, out, env)
            case ast.Assert(test=test, msg=message):
                self._assert(stmt, test, message, env)
                return env, True
            case ast.AnnAssign(target=target):
                what = "a name without a value" if isinstance(target, ast.Name) else construct(target)[0]
                raise refusal("target", span, what=what)
            case ast.AugAssign(target=target):
                raise refusal("target", span, what=construct(target)[0])
            case ast.Expr(value=value):
                way = "Assign its value, or remove it."
                raise refusal("statement", self.source.span(value), what="an expression without effect", way=way)
            case _:
                what, way = construct(stmt)
                raise refusal("statement", span, what=what, way=way)

    # --- assignments ---

    def assign(
        self, name: str, value: Expr, stmt: ast.stmt, out: list[Stmt], env: Env, block: Block, pinned: bool = False
    ) -> Env:
        """The names after `name = value`."""
        key = ("here", name, stmt, self.unrolled)
        return self.variables.assign(name, value, key, out, env, block, stmt, pinned)

    def _unpack(
        self, stmt: ast.Assign, targets: list[ast.expr], value: ast.expr, out: list[Stmt], env: Env, block: Block
    ) -> Env:
        """`q, r = a, b` and `q, r = divmod(a, b)`: all values are computed before the first is assigned."""
        names: list[str] = []
        for target in targets:
            if not isinstance(target, ast.Name):
                raise refusal("target", self.source.span(target), what=construct(target)[0])
            names.append(target.id)
        values = self._values(value, env)
        if len(values) != len(names):
            raise refusal("unpack", self.source.span(stmt), wanted=len(names), found=len(values))
        held, before = [], set[Expr]()  # what the targets stood for, of those that are assigned earlier
        for index, (name, computed) in enumerate(zip(names, values, strict=True)):
            if before.intersection(ir.subexpressions(computed)):
                key = ("held", name, stmt, index, self.unrolled)
                self.variables.register(key, computed.type)
                computed = self.variables.declare(out, f"{name}_next", key, computed, block).value
            held.append(computed)
            if name in env:
                before.add(env[name].value)
        for name, computed in zip(names, held, strict=True):
            env = self.assign(name, computed, stmt, out, env, block)
        return env

    def _values(self, value: ast.expr, env: Env) -> list[Expr]:
        match value:
            case ast.Tuple(elts=elements):
                return [self.expressions.lower(e, env) for e in elements]
            case ast.Call(func=func, args=[left, right], keywords=[]) if (
                is_dotted(func) and ast.unparse(func) not in env and static_value(self.source, func) is divmod
            ):
                span = self.source.span(value)
                share, lower = self.expressions.sharing.share, self.expressions.lower
                a, b = share(lower(left, env), "dividend", 2, span), share(lower(right, env), "divisor", 2, span)
                return [self.expressions.arithmetic.apply(op, [a, b], span) for op in (ops.FLOORDIV, ops.MOD)]
            case _:
                table = self.expressions.table(value, env)
                if table is not None:
                    return [weak(v, self.source.span(value)) for v in table.values]
                return [self.expressions.lower(value, env)]

    def _several(
        self, stmt: ast.Assign, targets: list[ast.expr], value: ast.expr, out: list[Stmt], env: Env, block: Block
    ) -> Env:
        """`a = b = value`: the value is computed once."""
        odd = next((t for t in targets if not isinstance(t, ast.Name)), None)
        if odd is not None:
            raise refusal("target", self.source.span(odd), what=construct(odd)[0])
        computed = self.expressions.lower(value, env)
        for target in targets:
            assert isinstance(target, ast.Name)
            env = self.assign(target.id, computed, stmt, out, env, block)
            computed = env[target.id].value if number(computed) is None else computed
        return env

    # --- the rest ---

    def _returned(self, node: ast.expr, env: Env) -> Expr:
        value = self.expressions.lower(node, env)
        if not self.variables.fits(value, self.result):
            describe = self.expressions.describe
            raise refusal(
                "return-type", self.source.span(node), found=describe(value.type), wanted=describe(self.result),
                at="", way=_way_out(self.result, self.expressions.typing, value.type),
            )  # fmt: skip
        return self.expressions.arithmetic.convert(value, self.result)

    def _assert(self, stmt: ast.Assert, test: ast.expr, message: ast.expr | None, env: Env) -> None:
        """A compile-time fact that must hold; it leaves no text."""
        condition = self.expressions.test(test, env, "`assert`")
        if not isinstance(condition, Const):
            raise refusal(
                "statement", self.source.span(stmt), what="`assert` of values",
                way="Only facts known when the functor is compiled are asserted: pymetal.is_floating(T).",
            )  # fmt: skip
        if not condition.value:
            text = message.value if isinstance(message, ast.Constant) else ast.unparse(test)
            at = f" for {', '.join(str(d) for d in self.expressions.typing.domain)}"
            raise refusal(
                "assertion", self.source.span(stmt), at=at, text=text, way="Narrow dtypes= or the annotation."
            )


def _without_docstring(body: list[ast.stmt]) -> list[ast.stmt]:
    match body:
        case [ast.Expr(value=ast.Constant(value=str())), *rest]:
            return rest
        case _:
            return body


def _way_out(result: Type, typing: Typing, returned: Type) -> str:
    """How a body could return what it has to."""
    wanted, found = typing.kinds(result), typing.kinds(returned)
    if Kind.COMPLEX in found and Kind.COMPLEX not in wanted:
        return "Return its .real or abs(), or annotate the result as `ComplexOf[T]`."
    way = f"Convert it with {result}(...)"
    if wanted == {Kind.BOOL}:
        return f'{way}, or leave bool out, as dtypes="integral" does, and give it an overload of its own.'
    if Kind.FLOATING in found and Kind.FLOATING not in wanted:
        return f'{way}, or use promotion="int_to_float" or dtypes="floating".'
    return f"{way}."
