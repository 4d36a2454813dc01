"""Frozen values without the cost of `dataclasses`.

`import dataclasses` takes one and a half times as long as a whole `python -c pass`, because it imports `inspect`, and
facts are needed by commands that must be faster. So a record lists its fields as annotations. Type checkers treat it as
a frozen dataclass; at run time only the code below is needed. See docs/decisions/0002.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any, Self, TypeVar, dataclass_transform

    T = TypeVar("T")
else:

    def dataclass_transform(**_: object) -> Callable[[T], T]:
        return lambda cls: cls


@dataclass_transform(frozen_default=True)
class Record:
    """A frozen value. Its fields are its annotations, in order; a class attribute is a default."""

    __match_args__: tuple[str, ...] = ()
    _known: frozenset[str] = frozenset()
    _needed: frozenset[str] = frozenset()  # fields without a default

    def __init_subclass__(cls) -> None:
        inherited = cls.__match_args__
        own = tuple(name for name in cls.__annotations__ if name not in inherited)
        type.__setattr__(cls, "__match_args__", inherited + own)
        type.__setattr__(cls, "_known", cls._known.union(own))
        type.__setattr__(cls, "_needed", cls._needed.union(name for name in own if name not in cls.__dict__))

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        names = self.__match_args__
        if not kwargs and len(self._needed) <= len(args) <= len(names):  # the fast path, for folds over many lines
            self.__dict__.update(zip(names, args))  # noqa: B905  (`strict` would slow it down)
            return
        values = {**dict(zip(names, args)), **kwargs} if args else kwargs  # noqa: B905
        is_each_given_once = len(values) == len(args) + len(kwargs)
        if not (is_each_given_once and self._needed <= values.keys() <= self._known):
            values = self._checked(args, kwargs)
        self.__dict__.update(values)

    def _checked(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """The values by name. Raises TypeError if one is unknown, repeated or missing."""
        names = self.__match_args__
        if len(args) > len(names):
            raise TypeError(f"{type(self).__name__} takes {len(names)} values, not {len(args)}")
        values = dict(zip(names, args))  # noqa: B905
        values.update(kwargs)
        if len(values) < len(args) + len(kwargs) or not set(names).issuperset(kwargs):
            strange = (kwargs.keys() & names[: len(args)]) | (kwargs.keys() - set(names))
            raise TypeError(f"{type(self).__name__}: unknown or repeated {', '.join(sorted(strange))}")
        if missing := [name for name in names if name not in values and not hasattr(type(self), name)]:
            raise TypeError(f"{type(self).__name__} lacks {', '.join(missing)}")
        return values

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{type(self).__name__} is frozen")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"{type(self).__name__} is frozen")

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self._values() == other._values()

    def __hash__(self) -> int:
        return hash((type(self), *self._values()))

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={value!r}" for name, value in self.as_dict().items())
        return f"{type(self).__name__}({fields})"

    def _values(self) -> tuple[object, ...]:
        return tuple(getattr(self, name) for name in self.__match_args__)

    @classmethod
    def required(cls) -> int:
        """The number of fields without a default. They come first."""
        return sum(1 for name in cls.__match_args__ if not hasattr(cls, name))

    def as_dict(self) -> dict[str, Any]:
        """The fields by name, in order."""
        return dict(zip(self.__match_args__, self._values(), strict=True))

    def replace(self, **changes: Any) -> Self:
        """The same value with some fields changed."""
        if strange := changes.keys() - self._known:
            raise TypeError(f"{type(self).__name__} has no {', '.join(sorted(strange))}")
        copy = object.__new__(type(self))
        copy.__dict__.update(self.__dict__, **changes)
        return copy


def quicken(*kinds: type[Record]) -> None:
    """Give each of KINDS an `__init__` of its own, as `dataclasses` would. It takes a third of the time of the common
    one, but as long to make as a hundred values. So this is for processes that make thousands of them. A kind with
    subclasses cannot have one: they would inherit it."""
    for kind in kinds:
        if kind.__subclasses__():
            raise ValueError(f"{kind.__name__} has subclasses")
        names = kind.__match_args__
        optional = {name: getattr(kind, name) for name in names if name not in kind._needed}
        parameters = ", ".join(f"{name}=optional[{name!r}]" if name in optional else name for name in names)
        steps = "; ".join(f"values[{name!r}] = {name}" for name in names)
        made: dict[str, Any] = {}
        exec(f"def __init__(self, {parameters}): values = self.__dict__; {steps}", {"optional": optional}, made)  # noqa: S102  (the names are ours)
        type.__setattr__(kind, "__init__", made["__init__"])
