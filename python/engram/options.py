"""Settings of methods and networks that are written in Python."""

from __future__ import annotations

import inspect
import re
from typing import Any, Dict, NamedTuple, Optional, Sequence, Tuple


class Option(NamedTuple):
    """A setting of a method or network, with its range and help."""

    default: Any
    low: float
    high: float
    help: str
    choices: Optional[Tuple[str, ...]] = None


def option(default: Any, low: Any = None, high: Any = None, help: str = "", *,
           choices: Optional[Sequence[str]] = None) -> Any:
    """A whole number or a real one from low to high, a switch, a text, or one of choices."""
    if choices is not None:
        return Option(default, 0, len(choices) - 1, help or str(low or ""), tuple(choices))
    if isinstance(default, (bool, str)):
        return Option(default, 0, 1, help or str(low or ""))
    return Option(default, float(low), float(high), help)


def option_row(name: str, o: Option) -> Tuple[Any, ...]:
    """What the engine's table of options is made from."""
    if o.choices is not None:
        return name, o.help, 4, o.choices.index(o.default), o.low, o.high, "|".join(o.choices)
    if isinstance(o.default, bool):
        return name, o.help, 2, float(o.default), 0.0, 1.0, None
    if isinstance(o.default, str):
        return name, o.help, 3, 0.0, 0.0, 0.0, o.default
    kind = 0 if isinstance(o.default, int) else 1
    return name, o.help, kind, float(o.default), o.low, o.high, None


def options_of(cls: type) -> Dict[str, Option]:
    """All options of a class, the bases' first."""
    found: Dict[str, Option] = {}
    for base in reversed(cls.__mro__):
        found.update({k: v for k, v in vars(base).items() if isinstance(v, Option)})
    return found


def word_of(cls: type) -> str:
    """FedProx as files have it: fed_prox."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", cls.__name__).lower()


def help_of(cls: type) -> str:
    """The first line of the class's docstring."""
    return (inspect.getdoc(cls) or cls.__name__).strip().splitlines()[0]
