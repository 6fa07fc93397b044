"""Preprocessed Metal text -> a C++ program in which each kernel has launchers that Python can call.

Explicit instantiations with ``[[host_name("x")]]`` and plain kernels are found in the text; each becomes, on the line
where it stands, a `pymetal_host::launcher` of the written signature (see ``shim/launch.h``), so that the
signature is still checked against the template. A program is rendered for all of its kernels to check it, or for a few
to generate their code.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass

from pymetal.errors import MetalSyntaxError
from pymetal.host.rewrite import match_bracket, place, rewrite
from pymetal.host.signature import Parameter, assign_sources, parse_parameters

_START = re.compile(r"\btemplate\b|\bkernel\b|^[ \t]*#[^\n]*", re.MULTILINE)
_KERNEL_ATTRIBUTE = re.compile(r"\[\[\s*kernel\s*\]\]")
_BLANK = re.compile(r"\s*")
_HOST_NAME = re.compile(r"host_name\s*\(\s*\"([^\"]*)\"((?:\s*\"[^\"]*\")*)\s*\)")
_STRIDED = re.compile(r"(?:stride|size|shape|dims)", re.IGNORECASE)
_CONSTANT_REFERENCE = re.compile(r"((?:^|,)\s*)constant\s+([\w:\s]+(?:<[^*&]*>[\w:\s]*)?)&\s*(\w+)")
_WORDS = re.compile(r"(?:\b(?:inline|static|kernel)\b|\[\[[^\]]*\]\]|\s)+")


@dataclass(frozen=True)
class Kernel:
    """A kernel that can be launched: its host name and the parameters in order."""

    name: str
    parameters: tuple[Parameter, ...]
    sources: tuple[int, ...]
    signature: str  # its type, as C++ text
    expression: str  # names it, as C++ text
    is_dense: bool  # whether its loop is to be vectorised
    number: int

    @property
    def buffers(self) -> tuple[tuple[int, str], ...]:
        """Buffer index and parameter name of each buffer, by index."""
        named = zip(self.sources, self.parameters, strict=True)
        return tuple(sorted((source, parameter.name) for source, parameter in named if source >= 0))

    def launcher(self) -> str:
        """One line of C++ that exports the kernel's entry points."""
        n = self.number
        count = max((index for index, _ in self.buffers), default=-1) + 1
        of = "".join(f", {source}" for source in self.sources)
        dense = "true" if self.is_dense else "false"
        declared = "".join(f", void* p{i}" for i in range(count))
        passed = "".join(f", p{i}" for i in range(count))
        return (
            f" using pymetal_sig_{n} = {self.signature};"
            f" using pymetal_kernel_{n} = ::pymetal_host::launcher<pymetal_sig_{n}>::of<{dense},"
            f" static_cast<pymetal_sig_{n}>(&{self.expression}){of}>;"
            f" PYMETAL_EXPORT void pymetal_run_{n}(void* const* a, const unsigned long* g, unsigned long b,"
            f" unsigned long e) {{ pymetal_kernel_{n}::run(a, g, b, e); }}"
            f" PYMETAL_EXPORT void pymetal_direct_{n}(unsigned long n{declared})"
            f" {{ pymetal_kernel_{n}::direct(n{passed}); }}"
            f" PYMETAL_EXPORT const long* pymetal_info_{n}() {{ return &pymetal_kernel_{n}::info[0][0]; }} "
        )


@dataclass(frozen=True)
class Program:
    """The C++ text in pieces; a number stands for the launcher of that kernel."""

    pieces: tuple[str | int, ...]
    kernels: tuple[Kernel, ...]

    def render(self, names: Collection[str] | None = None) -> str:
        """The whole text, with launchers for the kernels of these names, or for all."""
        wanted = {k.number: k.launcher() for k in self.kernels if names is None or k.name in names}
        return "".join(wanted.get(piece, "") if isinstance(piece, int) else piece for piece in self.pieces)


def _blank(text: str, at: int) -> int:
    match = _BLANK.match(text, at)
    assert match is not None
    return match.end()


def _host_name(attributes: str) -> str | None:
    """The argument of host_name; adjacent string literals, as macros make them, are one."""
    match = _HOST_NAME.search(attributes)
    return match[1] + "".join(re.findall(r'"([^"]*)"', match[2])) if match else None


@dataclass
class _Found:
    """A kernel declaration met in the text."""

    start: int  # of the declaration
    end: int  # after it: after `)` of a template or plain kernel, after `;` of an instantiation
    name: str  # qualified, with template arguments, as written
    parameters: str | None
    host_name: str | None
    open: int = 0  # where the parameters begin


def _declaration(text: str, start: int, at: int) -> _Found | None:
    """A kernel at `start`, whose words and attributes begin at `at`; None if that is not a kernel."""
    words = _WORDS.match(text, at)
    if words is None or not re.search(r"\bkernel\b", words[0]):
        return None
    at = words.end()
    host_name = _host_name(words[0])
    if decltype := re.compile(r"decltype\s*").match(text, at):
        at = _blank(text, match_bracket(text, decltype.end()))
    elif void := re.compile(r"void\b\s*").match(text, at):
        at = void.end()
    else:
        raise MetalSyntaxError(f"{place(text, at)}: error: a kernel must return void")
    if more := _WORDS.match(text, at):
        host_name = host_name or _host_name(more[0])
        at = more.end()
    begin = at
    while at < len(text) and text[at] not in "(;{":
        at = match_bracket(text, at) if text[at] == "<" else at + 1
    name = re.sub(r"\s+", " ", text[begin:at]).strip()
    if text[at : at + 1] != "(":
        return _Found(start, at, name, None, host_name)
    end = match_bracket(text, at)
    return _Found(start, end, name, text[at + 1 : end - 1], host_name, at + 1)


def _last_name(qualified: str) -> str:
    """``f`` of ``::ns::f<int>``."""
    bare = qualified.split("<", 1)[0]
    return bare.replace(" ", "").rsplit("::", 1)[-1]


def _is_dense(parameters: tuple[Parameter, ...]) -> bool:
    """Whether consecutive threads touch consecutive memory, as far as the parameters show it.

    Untyped memory and arrays of strides mean computed addresses, where a vectorised loop of gathers is slower.
    """
    for parameter in parameters:
        text = parameter.declaration
        if "*" in text and ("void" in text or _STRIDED.search(parameter.name)):
            return False
    return True


def _one_line(parameters: str) -> str:
    """The parameters without line ends, which would move the lines of later messages; a line marker keeps its own."""
    return parameters.strip() if "\n#" in parameters else " ".join(parameters.split())


def _copyable(parameters: str) -> str:
    """The parameters with each ``constant T&`` as a type that is ``const T&`` if T is a struct.

    C++ cannot copy a struct out of an address space, and Metal can: functors take such structs by value.
    """
    return _CONSTANT_REFERENCE.sub(r"\1::pymetal_host::constant_ref<\2> \3", parameters)


class _Scanner:
    """Collects pieces and kernels in one pass over the text."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.pieces: list[str | int] = []
        self.kernels: list[Kernel] = []
        self.templates: dict[str, list[tuple[Parameter, ...]]] = {}
        self.pending: list[tuple[_Found, bool]] = []
        self.copied = 0

    def cut(self, upto: int, replacement: str | int, resume: int) -> None:
        """Copy the text up to an offset, put something there, and go on at another."""
        self.pieces += [self.text[self.copied : upto], replacement]
        self.copied = resume

    def parameters(self, found: _Found, name: str) -> tuple[Parameter, ...]:
        try:
            return parse_parameters(found.parameters or "", name)
        except MetalSyntaxError as error:
            raise self.error(found, error) from None

    def error(self, found: _Found, error: MetalSyntaxError) -> MetalSyntaxError:
        return MetalSyntaxError(f"{place(self.text, found.start)}: error: {error.message}", hint=error.hint)

    def scan(self) -> Program:
        at = 0
        while match := _START.search(self.text, at):
            at = match.end()
            if match[0].lstrip().startswith("#"):
                continue
            if match[0] == "template":
                at = self.template(match.start(), _blank(self.text, at))
            else:
                at = self.plain(match.start())
        self.pieces.append(self.text[self.copied :])
        for found, is_instantiation in self.pending:
            self.kernels.append(self.kernel(found, is_instantiation))
        names = [kernel.name for kernel in self.kernels]
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise MetalSyntaxError(f"two kernels have the host name {twice!r}")
        return Program(tuple(self.pieces), tuple(self.kernels))

    def template(self, start: int, at: int) -> int:
        text = self.text
        if text[at : at + 1] == "<":
            end = match_bracket(text, at)
            found = _declaration(text, start, end)
            if found is None:
                return end
            if found.parameters is not None:
                known = self.templates.setdefault(_last_name(found.name), [])
                known.append(self.parameters(found, found.name))
                self.cut(found.open, _copyable(found.parameters), found.end - 1)
            return found.end
        found = _declaration(text, start, at)
        if found is None:
            return at
        found.end = text.find(";", found.end) + 1
        if found.end == 0:
            raise MetalSyntaxError(f"{place(text, start)}: error: expected ';' after explicit instantiation")
        self.cut(start, len(self.pending), found.end - 1)
        self.pending.append((found, True))
        return found.end

    def plain(self, keyword: int) -> int:
        text = self.text
        before = re.compile(r"(?:\[\[[^\]]*\]\]\s*)+$").search(text, max(0, keyword - 200), keyword)
        start = before.start() if before else keyword
        found = _declaration(text, start, start)
        if found is None or found.parameters is None:
            return _blank(text, keyword + len("kernel"))
        at = _blank(text, found.end)
        if attributes := re.compile(r"(?:\[\[[^\]]*\]\]\s*)+").match(text, at):
            at = attributes.end()
        if text[at : at + 1] != "{":
            self.cut(found.open, _copyable(found.parameters), found.end - 1)
            return found.end
        end = match_bracket(text, at)
        self.cut(found.open, _copyable(found.parameters), found.end - 1)
        self.cut(end, len(self.pending), end)
        self.pending.append((found, False))
        return found.end

    def kernel(self, found: _Found, is_instantiation: bool) -> Kernel:
        name = found.host_name or found.name
        known = self.templates.get(_last_name(found.name), []) if is_instantiation else []
        if found.parameters is None:
            if not known:
                raise MetalSyntaxError(
                    f"{place(self.text, found.start)}: error: no kernel template named {found.name!r}"
                )
            parameters = max(known, key=lambda those: sum(p.source is not None for p in those))
            signature = f"decltype(&{found.name})"
        else:
            parameters = self.parameters(found, name)
            signature = f"void (*)({_one_line(_copyable(found.parameters))})"
        alike = [those for those in known if len(those) == len(parameters)] or [parameters]
        attributed = max(alike, key=lambda those: sum(p.source is not None for p in those))
        try:
            sources = tuple(assign_sources(parameters, attributed, name))
        except MetalSyntaxError as error:
            raise self.error(found, error) from None
        dense = _is_dense(parameters)
        return Kernel(name, parameters, sources, signature, found.name, dense, len(self.kernels))


def translate(preprocessed: str) -> Program:
    """The program of a preprocessed Metal source."""
    return _Scanner(_KERNEL_ATTRIBUTE.sub("kernel", rewrite(preprocessed))).scan()
