"""Values that are computed, and names that are imported, when they are first looked at."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Generic, TypeVar, overload

_T = TypeVar("_T")


class cached_property(Generic[_T]):  # as functools has it
    """`functools.cached_property` without its lock, which Python before 3.12 has for all objects of a class together.

    There one lowering waits for the export of another, and a process that forks meanwhile leaves the lock held in its
    child for ever. Two threads that look at the same object at once may both compute the value.
    """

    def __init__(self, compute: Callable[[Any], _T]) -> None:
        self._compute = compute
        self._name = compute.__name__
        self.__doc__ = compute.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, obj: None, owner: type | None = None) -> cached_property[_T]: ...
    @overload
    def __get__(self, obj: object, owner: type | None = None) -> _T: ...
    def __get__(self, obj: object | None, owner: type | None = None) -> cached_property[_T] | _T:
        if obj is None:
            return self
        value = obj.__dict__[self._name] = self._compute(obj)
        return value


def exported(package: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """The `__getattr__` of a package whose public names are imported on first use; `homes` has the module of each."""

    def get(name: str) -> Any:
        if name in homes:
            from importlib import import_module

            return getattr(import_module(f"{package}.{homes[name]}"), name)
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return get
