"""The parameters of a kernel, read from their text: which buffer or position each one is."""

from __future__ import annotations

import re
from dataclasses import dataclass

from pymetal.errors import MetalSyntaxError, nearest

# The numbers of `enum source` in shim/launch.h.
BUILTINS = {
    "thread_position_in_grid": -1,
    "threads_per_grid": -2,
    "grid_size": -2,
    "threadgroup_position_in_grid": -3,
    "thread_position_in_threadgroup": -4,
    "thread_index_in_threadgroup": -5,
    "threads_per_threadgroup": -6,
    "threadgroups_per_grid": -7,
    "thread_index_in_simdgroup": -8,
    "simdgroup_index_in_threadgroup": -9,
    "threads_per_simdgroup": -10,
    "thread_execution_width": -10,
    "simdgroups_per_threadgroup": -11,
    "dispatch_threads_per_threadgroup": -12,
    "grid_origin": -13,
}
REFUSED = {
    "texture": "textures",
    "sampler": "samplers",
    "threadgroup": "threadgroup memory",
    "function_constant": "function constants",
    "stage_in": "stage inputs",
    "quadgroup_index_in_threadgroup": "quadgroups",
    "thread_index_in_quadgroup": "quadgroups",
}
_ATTRIBUTES = re.compile(r"\[\[(.*?)\]\]", re.DOTALL)
_ATTRIBUTE = re.compile(r"(?:metal\s*::\s*)?(\w+)\s*(?:\(\s*(\w+)\s*\))?")
_ALIGNMENT = {"maybe_unused", "clang", "gnu", "alias", "user"}
_SPACE = re.compile(r"\b(?:device|constant|threadgroup)\b")


@dataclass(frozen=True)
class Parameter:
    """One parameter: its declaration without attributes, its name and, if an attribute says it, where it comes from."""

    declaration: str
    name: str
    source: int | None  # a buffer index, or a negative number of BUILTINS

    @property
    def is_indirect(self) -> bool:
        return "*" in self.declaration or "&" in self.declaration


def split_list(text: str) -> list[str]:
    """The items of a comma-separated list; commas inside any kind of bracket do not separate."""
    items, depth, start = [], 0, 0
    for at, c in enumerate(text):
        if c in "([{<":
            depth += 1
        elif c in ")]}" or (c == ">" and text[at - 1 : at] != "-"):
            depth -= 1
        elif c == "," and depth == 0:
            items.append(text[start:at])
            start = at + 1
    items.append(text[start:])
    return [item.strip() for item in items if item.strip()]


def _attribute_source(text: str, name: str, kernel: str) -> int | None:
    for inside in _ATTRIBUTES.findall(text):
        for match in _ATTRIBUTE.finditer(inside):
            word, argument = match[1], match[2]
            if word == "buffer":
                if argument is None or not argument.isdigit():
                    raise MetalSyntaxError(f"kernel {kernel}: parameter {name!r} needs a number in [[buffer(n)]]")
                return int(argument)
            if word in BUILTINS:
                return BUILTINS[word]
            if word in REFUSED:
                raise MetalSyntaxError(
                    f"kernel {kernel}: parameter {name!r} is [[{word}]]; the host device has no {REFUSED[word]}"
                )
            if word not in _ALIGNMENT:
                close = nearest(word, ["buffer", *BUILTINS])
                hint = f"did you mean [[{close}]]?" if close else None
                raise MetalSyntaxError(
                    f"kernel {kernel}: parameter {name!r} has the attribute [[{word}]], unknown to the host device",
                    hint=hint,
                )
    return None


def parse_parameters(text: str, kernel: str) -> tuple[Parameter, ...]:
    """The parameters between the parentheses of a kernel."""
    found = []
    for number, item in enumerate(split_list(text)):
        bare = _ATTRIBUTES.sub("", item).strip()
        match = re.search(r"(\w+)\s*$", bare)
        has_name = match is not None and bool(re.search(r"[\w>*&\]]\s*$", bare[: match.start()]))
        name = match[1] if match is not None and has_name else f"parameter {number}"
        parameter = Parameter(bare, name, _attribute_source(item, name, kernel))
        if parameter.is_indirect and not _SPACE.search(bare):
            raise MetalSyntaxError(
                f"kernel {kernel}: parameter {name!r} ({bare}) is a pointer or reference without an address space",
                hint="write device, device const or constant before the type",
            )
        if re.search(r"\bthreadgroup\b", bare):
            raise MetalSyntaxError(
                f"kernel {kernel}: parameter {name!r} is in threadgroup memory, which the host device does not have"
            )
        found.append(parameter)
    return tuple(found)


def assign_sources(parameters: tuple[Parameter, ...], attributed: tuple[Parameter, ...], kernel: str) -> list[int]:
    """Where each parameter comes from.

    `attributed` is the template's own list: an explicit instantiation seldom repeats attributes. A pointer or
    reference without any gets the next free buffer, in order.
    """
    sources = [
        own.source if own.source is not None else other.source
        for own, other in zip(parameters, attributed, strict=True)
    ]
    taken = {source for source in sources if source is not None and source >= 0}
    buffers = [source for source in sources if source is not None and source >= 0]
    if len(buffers) != len(taken):
        raise MetalSyntaxError(f"kernel {kernel}: two parameters have the same [[buffer(n)]]")
    free = (number for number in range(1 << 16) if number not in taken)
    result = []
    for parameter, source in zip(parameters, sources, strict=True):
        if source is None and not parameter.is_indirect:
            raise MetalSyntaxError(
                f"kernel {kernel}: parameter {parameter.name!r} ({parameter.declaration}) is neither a buffer nor has "
                "an attribute such as [[thread_position_in_grid]]"
            )
        result.append(next(free) if source is None else source)
    return result
