"""Leaves out what nothing reads: expressions have no effects, so that an unread variable needs no text."""

from __future__ import annotations

from dataclasses import replace

from pymetal.ir.nodes import Assign, For, Function, If, Let, Name, Stmt, While
from pymetal.ir.walk import expressions, statements


def without_unread(function: Function) -> Function:
    """The function without variables that no expression reads, and without assignments of a variable to itself."""
    body = function.body
    while True:
        read = frozenset(e.name for e in expressions(body) if isinstance(e, Name))
        if not any(_is_unread(s, read) for s in statements(body)):
            return replace(function, body=body)
        body = _kept(body, read)


def _is_unread(stmt: Stmt, read: frozenset[str]) -> bool:
    match stmt:
        case Assign(name=name, value=Name(name=value)) if name == value:
            return True
        case Let(name=name) | Assign(name=name):
            return name not in read
        case If(then=(), otherwise=()):
            return True
        case _:
            return False


def _kept(body: tuple[Stmt, ...], read: frozenset[str]) -> tuple[Stmt, ...]:
    kept: list[Stmt] = []
    for stmt in body:
        if _is_unread(stmt, read):
            continue
        match stmt:
            case If(then=then, otherwise=otherwise):
                kept.append(replace(stmt, then=_kept(then, read), otherwise=_kept(otherwise, read)))
            case While(body=inner) | For(body=inner):
                kept.append(replace(stmt, body=_kept(inner, read)))
            case _:
                kept.append(stmt)
    return tuple(kept)
