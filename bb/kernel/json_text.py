"""JSON text, by the C core of the standard `json` package.

`import json` takes two thirds of the time of `python -c pass`, nearly all of it for `re`; its C scanner and encoder
take none. If an interpreter has no such core, the package itself is used: the same results with a slower start.

`dumps` writes compact JSON with keys in their order and text unescaped. `dumps_ascii` escapes all other characters, so
that its result survives any terminal encoding and lone surrogates.
"""

from __future__ import annotations

from bb.kernel.errors import Usage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

WHITESPACE = " \t\r\n"
INFINITE = float("inf")

InvalidText = Usage.declare("INVALID_TEXT", "A text is not valid UTF-8", hint="pass valid UTF-8")


class NotJson(ValueError):
    """The text is not JSON."""


def _no_constant(name: str) -> object:
    raise NotJson(f"{name} is not JSON")


def _finite(text: str) -> float:
    number = float(text)
    if number in (INFINITE, -INFINITE):
        raise NotJson("a number is too large")
    return number


class _Reading:
    """The scanner's settings. NaN and Infinity, which are not JSON, are refused."""

    strict = True
    object_hook = None
    object_pairs_hook = None
    parse_float = staticmethod(_finite)
    parse_int = int
    parse_constant = staticmethod(_no_constant)
    memo: dict[str, str] = {}  # noqa: RUF012  (the scanner's own cache, cleared by it)


def _by_the_core() -> tuple[Callable[[str, int], tuple[Any, int]], Callable[[object], str], Callable[[object], str]]:
    """A scanner and two writers, from the C core."""
    import _json  # noqa: PLC0415

    core: Any = _json
    scan = core.make_scanner(_Reading)

    def writer(quote: Callable[[str], str]) -> Callable[[object], str]:
        encode = core.make_encoder(None, None, quote, None, ":", ",", False, False, False)
        return lambda value: "".join(encode(value, 0))

    return scan, writer(core.encode_basestring), writer(core.encode_basestring_ascii)


def _by_the_package() -> tuple[Callable[[str, int], tuple[Any, int]], Callable[[object], str], Callable[[object], str]]:
    """The same from the `json` package, for an interpreter without the C core."""
    import json  # noqa: PLC0415

    def writer(is_ascii: bool) -> Callable[[object], str]:
        return json.JSONEncoder(ensure_ascii=is_ascii, separators=(",", ":"), allow_nan=False).encode

    decoder = json.JSONDecoder(parse_constant=_no_constant, parse_float=_finite)
    return decoder.raw_decode, writer(False), writer(True)


try:
    _scan, dumps, dumps_ascii = _by_the_core()
except (ImportError, AttributeError, TypeError):
    _scan, dumps, dumps_ascii = _by_the_package()


def loads(text: str) -> Any:
    """The value of a JSON TEXT. Raises NotJson if TEXT is not valid JSON or is nested too deeply."""
    start = len(text) - len(text.lstrip(WHITESPACE))
    value, end = scan(text, start)
    if text[end:].strip(WHITESPACE):
        raise NotJson(f"extra text at character {end}")
    return value


def scan(text: str, start: int) -> tuple[Any, int]:
    """The value in TEXT from START on, and its end."""
    try:
        value, end = _scan(text, start)
    except StopIteration as error:
        raise NotJson(f"no JSON value at character {error.value}") from None
    except (ValueError, RecursionError) as error:
        raise NotJson(str(error)) from None
    except SystemError:  # the C scanner raises it for syntax errors until `json.decoder` has been imported
        raise NotJson("it is truncated or malformed") from None
    return value, end


def read(octets: bytes) -> Any:
    """The value of a JSON file. Raises NotJson also if a text in it has a lone surrogate."""
    try:
        value = loads(octets.decode())
        if b"\\u" in octets:
            dumps(value).encode()
    except UnicodeError as error:
        raise NotJson(str(error)) from None
    return value


def canonical(value: object) -> str:
    """The JSON text of VALUE with sorted keys, for digests and comparisons."""
    return dumps(_sorted(value))


def _sorted(value: object) -> object:
    if isinstance(value, dict):
        return {key: _sorted(value[key]) for key in sorted(value)}
    if isinstance(value, list | tuple):
        return [_sorted(item) for item in value]
    return value
