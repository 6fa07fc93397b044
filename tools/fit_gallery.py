"""Derives the polynomials of `examples/aten/tables.py`, by Chebyshev interpolation at many digits.

    python tools/fit_gallery.py            # print the tables, and the relative error of each
    python tools/fit_gallery.py --write    # rewrite examples/aten/tables.py
    python tools/fit_gallery.py --check    # exit 1 if it differs from what is derived here

All are evaluated in float, so that a relative error of 2^-27 or so does not show beside the rounding.

ERFCX      (1 + 2 x) erfcx(x) for x >= 0, in q = (x - 2) / (x + 2): the factor takes the decay out.
AIRY       Ai(x) for -2 <= x <= 1, in (x + 1/2) / (3/2).
AIRY_TAIL  2 sqrt(pi) x^(1/4) e^z Ai(x) for x >= 1, z = (2/3) x^(3/2), in 1 / z.
AIRY_SIZE  sqrt(pi) x^(1/4) times the modulus of Ai and Bi at -x, for x >= 2, in 1 / z^2.
AIRY_PHASE (z - pi/4 - phase) z, of the same.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import mpmath
from mpmath import mpf

mpmath.mp.dps = 50
TARGET = Path(__file__).parents[1] / "examples" / "aten" / "tables.py"


@dataclass(frozen=True)
class Fit:
    """A polynomial for `function` on [low, high]; `shift` and `scale` say what it is evaluated at."""

    name: str
    doc: str
    function: Callable[[mpf], mpf]
    low: mpf
    high: mpf
    degree: int
    shift: float = 0.0
    scale: float = 1.0

    def coefficients(self) -> list[mpf]:
        """The highest power first."""
        count = self.degree + 1
        nodes = [mpmath.cos(mpmath.pi * (k + mpf(1) / 2) / count) for k in range(count)]
        points = [(self.high - self.low) / 2 * n + (self.high + self.low) / 2 for n in nodes]
        at = [(p - self.shift) / self.scale for p in points]
        matrix = mpmath.matrix([[a**j for j in range(self.degree, -1, -1)] for a in at])
        return list(mpmath.lu_solve(matrix, mpmath.matrix([self.function(p) for p in points])))

    def error(self, coefficients: list[mpf]) -> float:
        """The largest relative error on a grid."""
        grid = [self.low + (self.high - self.low) * k / 500 for k in range(501)]
        exact = [self.function(x) for x in grid]
        found = [mpmath.polyval(coefficients, (x - self.shift) / self.scale) for x in grid]
        return float(max(abs(f - e) / abs(e) for f, e in zip(found, exact, strict=True)))


def _scaled_erfcx(q: mpf) -> mpf:
    if q == 1:
        return 2 / mpmath.sqrt(mpmath.pi)
    x = 2 * (1 + q) / (1 - q)
    if x > 1000:
        return (1 + 2 * x) / (x * mpmath.sqrt(mpmath.pi)) * (1 - 1 / (2 * x * x) + 3 / (4 * x**4))
    return (1 + 2 * x) * mpmath.exp(x * x) * mpmath.erfc(x)


def _argument(z: mpf) -> mpf:
    return (mpf(3) / 2 * z) ** (mpf(2) / 3)


def _airy_tail(t: mpf) -> mpf:
    if t < 1e-4:
        return 1 - 5 * t / 72 + 385 * t * t / 10368
    x = _argument(1 / t)
    return 2 * mpmath.sqrt(mpmath.pi) * x ** (mpf(1) / 4) * mpmath.exp(1 / t) * mpmath.airyai(x)


def _airy_pair(u: mpf) -> tuple[mpf, mpf, mpf, mpf]:
    z = 1 / mpmath.sqrt(u)
    x = _argument(z)
    return z, x, mpmath.airyai(-x), mpmath.airybi(-x)


def _airy_size(u: mpf) -> mpf:
    _, x, a, b = _airy_pair(max(u, mpf(10) ** -6))
    return mpmath.sqrt(mpmath.pi) * x ** (mpf(1) / 4) * mpmath.sqrt(a * a + b * b)


def _airy_phase(u: mpf) -> mpf:
    z, _, a, b = _airy_pair(max(u, mpf(10) ** -6))
    # Ai(-x) = size cos(z - pi/4 - d), Bi(-x) = -size sin(z - pi/4 - d): the difference of the two angles, near zero.
    behind = z - mpmath.pi / 4 - mpmath.atan2(-b, a)
    return (behind - 2 * mpmath.pi * mpmath.nint(behind / (2 * mpmath.pi))) * z


_LEAST_Z = mpf(2) / 3 * mpf(2) ** (mpf(3) / 2)
FITS = (
    Fit("ERFCX", "(1 + 2 x) erfcx(x) for x >= 0, in (x - 2) / (x + 2)", _scaled_erfcx, mpf(-1), mpf(1), 15),
    Fit("AIRY", "Ai(x) for -2 <= x <= 1, in (x + 1/2) / (3/2)", mpmath.airyai, mpf(-2), mpf(1), 13, -0.5, 1.5),
    Fit("AIRY_TAIL", "2 sqrt(pi) x^(1/4) e^z Ai(x) for x >= 1, in 1 / z", _airy_tail, mpf(0), mpf(1.5), 13),
    Fit("AIRY_SIZE", "sqrt(pi) x^(1/4) |Ai + i Bi| at -x, for x >= 2, in 1 / z^2", _airy_size, mpf(0), _LEAST_Z**-2, 9),
    Fit("AIRY_PHASE", "z (z - pi/4 - angle) of the same", _airy_phase, mpf(0), _LEAST_Z**-2, 9),
)


def text() -> str:
    """The module of the tables."""
    parts = ['"""Polynomials of the gallery, the highest power first. Written by tools/fit_gallery.py: edit that."""\n']
    for fit in FITS:
        rows = "".join(f"    {mpmath.nstr(c, 10)},\n" for c in fit.coefficients())
        parts.append(f"# {fit.doc}\n{fit.name} = (\n{rows})\n")
    return "\n".join(parts)


def main(arguments: list[str]) -> int:
    """Prints, writes or checks."""
    if arguments == ["--check"]:
        return int(TARGET.read_text() != text())
    if arguments == ["--write"]:
        TARGET.write_text(text())
        return 0
    print(text())
    for fit in FITS:
        print(f"{fit.name}: relative error {fit.error(fit.coefficients()):.2g}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
