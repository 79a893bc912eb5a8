"""The complement of the error function, of other operators, accurate where it is next to nothing.

Rational approximations by W. J. Cody, "Rational Chebyshev approximations for the error function", Mathematics of
Computation 23 (1969), as in netlib's CALERF: below a half 1 - erf(x), above it exp(-x * x) times a quotient.
"""

from __future__ import annotations

from typing import Any

import torch

_NEAR = (
    (2.15311535474403846e-8, 5.64188496988670089e-1, 8.88314979438837594, 6.61191906371416295e1, 2.98635138197400131e2,
     8.81952221241769090e2, 1.71204761263407058e3, 2.05107837782607147e3, 1.23033935479799725e3),
    (1.0, 1.57449261107098347e1, 1.17693950891312499e2, 5.37181101862009858e2, 1.62138957456669019e3,
     3.29079923573345963e3, 4.36261909014324716e3, 3.43936767414372164e3, 1.23033935480374942e3),
)  # fmt: skip
"""Up to 4, of x: the coefficients of numerator and denominator, of the highest power first."""
_FAR = (
    (1.63153871373020978e-2, 3.05326634961232344e-1, 3.60344899949804439e-1, 1.25781726111229246e-1,
     1.60837851487422766e-2, 6.58749161529837803e-4),
    (1.0, 2.56852019228982242, 1.87295284992346725, 5.27905102951428412e-1, 6.05183413124413191e-2,
     2.33520497626869185e-3),
)  # fmt: skip
"""Beyond, of 1 / (x * x)."""
_ROOT = 5.6418958354775628695e-1
"""1 / sqrt(pi)."""
_MOST = 30.0
"""Beyond, it is zero in float64."""


def _polynomial(coefficients: tuple[float, ...], x: Any) -> Any:
    made = coefficients[0] * x + coefficients[1]
    for one in coefficients[2:]:
        made = made * x + one
    return made


def _quotient(both: tuple[tuple[float, ...], tuple[float, ...]], x: Any) -> Any:
    above, below = both
    return _polynomial(above, x) / _polynomial(below, x)


def erfc(x: Any) -> Any:
    """Of a tensor of float32 or float64."""
    y = torch.clamp(x, 0.5, _MOST)
    inverse = 1 / (y * y)
    far = (_ROOT - inverse * _quotient(_FAR, inverse)) / y
    steps = torch.floor(y * 16) * 0.0625  # its square is exact
    tail = torch.exp(-steps * steps) * torch.exp(-(y - steps) * (y + steps))
    return torch.where(x > 0.5, tail * torch.where(y > 4, far, _quotient(_NEAR, y)), 1 - torch.erf(x))
