"""Reading a trace that came from outside: every size, depth and type is checked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..errors import TraceError
from .rows import FORMAT, KINDS, VERSION, Failure, Step, TensorInfo, Warning

MOST = {"steps": 200_000, "items": 4_000_000, "text": 20_000, "axes": 64, "depth": 16}


class _Reader:
    """Read one document; counts what it takes, so that a small limit holds for the whole."""

    def __init__(self) -> None:
        self.items = 0
        self.steps = 0

    def fail(self, where: str, wanted: str, came: Any) -> TraceError:
        kind = type(came).__name__
        return TraceError(f"Trace.from_dict: {where} must be {wanted}, not {kind}")

    def many(self, where: str) -> None:
        self.items += 1
        if self.items > MOST["items"]:
            raise TraceError(f"Trace.from_dict: more than {MOST['items']} values (at {where})")

    def text(self, value: Any, where: str) -> str:
        self.many(where)
        if not isinstance(value, str):
            raise self.fail(where, "a string", value)
        if len(value) > MOST["text"]:
            raise TraceError(f"Trace.from_dict: {where} is longer than {MOST['text']} characters")
        return value

    def whole(self, value: Any, where: str) -> int:
        self.many(where)
        if isinstance(value, bool) or not isinstance(value, int) or abs(value) >= 2**63:
            raise self.fail(where, "a whole number below 2**63", value)
        return value

    def maybe(self, read: Callable, value: Any, where: str) -> Any:
        return None if value is None else read(value, where)

    def each(self, read: Callable, value: Any, where: str, most: int | None = None) -> list:
        if not isinstance(value, list):
            raise self.fail(where, "a list", value)
        if most is not None and len(value) > most:
            raise TraceError(f"Trace.from_dict: {where} has {len(value)} items; at most {most}")
        return [read(item, f"{where}[{place}]") for place, item in enumerate(value)]

    def named(self, read: Callable, value: Any, where: str) -> dict:
        if not isinstance(value, dict):
            raise self.fail(where, "an object", value)
        return {
            self.text(key, f"a name in {where}"): read(item, f"{where}[{key!r:.40}]")
            for key, item in value.items()
        }

    def plain(self, value: Any, where: str, depth: int = 0) -> Any:
        self.many(where)
        if depth > MOST["depth"]:
            raise TraceError(f"Trace.from_dict: {where} is nested more than {MOST['depth']} deep")
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, str):
            return self.text(value, where)
        if isinstance(value, int):
            return self.whole(value, where)
        if isinstance(value, float):
            if value != value or value in (float("inf"), float("-inf")):
                raise TraceError(
                    f'Trace.from_dict: {where} must be finite, or "nan", "inf", "-inf"'
                )
            return value
        if isinstance(value, list):
            return [self.plain(item, where, depth + 1) for item in value]
        if isinstance(value, dict):
            return self.named(lambda item, at: self.plain(item, at, depth + 1), value, where)
        raise self.fail(where, "JSON", value)

    def fields(self, value: Any, names: tuple[str, ...], where: str) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise self.fail(where, "an object", value)
        missing = [name for name in names if name not in value]
        unknown = [str(name)[:40] for name in value if name not in names]
        if missing or unknown:
            what = f"lacks {missing[0]}" if missing else f"has an unknown field {unknown[0]!r}"
            raise TraceError(f"Trace.from_dict: {where} {what}")
        return value

    # -- the parts of a trace ---------------------------------------------------------------

    def tensor(self, value: Any, where: str) -> TensorInfo:
        data = self.fields(value, TensorInfo.FIELDS, where)
        axes = MOST["axes"]
        shape = self.each(self.whole, data["shape"], f"{where}.shape", axes)
        dims = self.each(self.text, data["dims"], f"{where}.dims", axes)
        strides = self.each(self.whole, data["strides"], f"{where}.strides", axes)
        if len(dims) != len(shape) or len(strides) not in (0, len(shape)):
            raise TraceError(f"Trace.from_dict: {where} has {len(shape)} axes but {len(dims)} dims")
        if any(size < 0 for size in shape):
            raise TraceError(f"Trace.from_dict: {where}.shape has a negative size")
        values = data["values"]
        if values is not None:
            self.nested(values, shape, f"{where}.values")
        return TensorInfo(
            self.text(data["name"], f"{where}.name"), tuple(shape), tuple(dims), tuple(strides),
            self.whole(data["offset"], f"{where}.offset"),
            self.text(data["dtype"], f"{where}.dtype"),
            self.text(data["device"], f"{where}.device"), values, True,
        )  # fmt: skip

    def nested(self, values: Any, shape: list[int], where: str) -> None:
        """Check that nested lists have a tensor's shape, down to numbers, true, false or words."""
        self.many(where)
        if not shape:
            word = isinstance(values, str) and values in ("nan", "inf", "-inf")
            if word or (isinstance(values, int) and abs(values) < 2**64):  # uint64 is no size
                return
            if not isinstance(values, float):
                raise self.fail(where, 'numbers, or "nan", "inf", "-inf"', values)
            self.plain(values, where)
            return
        if not isinstance(values, list) or len(values) != shape[0]:
            raise TraceError(f"Trace.from_dict: {where} does not have the tensor's shape")
        for item in values:
            self.nested(item, shape[1:], where)

    def output(self, value: Any, where: str) -> TensorInfo | tuple[TensorInfo, ...]:
        if isinstance(value, list):
            return tuple(self.each(self.tensor, value, where))
        return self.tensor(value, where)

    def step(self, value: Any, where: str, depth: int = 0) -> Step:
        data = self.fields(value, Step.__slots__, where)
        self.steps += 1
        if self.steps > MOST["steps"] or depth > MOST["depth"]:
            raise TraceError(f"Trace.from_dict: too many rows, or nested too deep, at {where}")
        kind = self.text(data["kind"], f"{where}.kind")
        if kind not in KINDS:
            raise TraceError(f"Trace.from_dict: {where}.kind is {kind!r:.40}, not one of {KINDS}")

        def child(item: Any, at: str) -> Step:
            return self.step(item, at, depth + 1)

        return Step(
            self.whole(data["index"], f"{where}.index"),
            self.maybe(self.text, data["file"], f"{where}.file"),
            self.maybe(self.whole, data["line"], f"{where}.line"),
            self.text(data["code"], f"{where}.code"),
            self.text(data["expression"], f"{where}.expression"),
            self.maybe(self.text, data["variable"], f"{where}.variable"),
            self.text(data["op"], f"{where}.op"),
            tuple(self.each(self.tensor, data["inputs"], f"{where}.inputs")),
            self.maybe(self.output, data["output"], f"{where}.output"),
            self.named(self.plain, data["params"], f"{where}.params"),
            self.maybe(self.text, data["module"], f"{where}.module"),
            kind, self.text(data["note"], f"{where}.note"),
            self.each(child, data["steps"], f"{where}.steps"),
        )  # fmt: skip

    def warning(self, value: Any, where: str) -> Warning:
        data = self.fields(value, Warning.__slots__, where)
        dims = self.each(self.text, data["dims"], f"{where}.dims")
        if len(dims) != 2:
            raise TraceError(f"Trace.from_dict: {where}.dims must be two names")
        line = self.maybe(self.whole, data["line"], f"{where}.line")
        code = self.text(data["code"], f"{where}.code")
        return Warning(line, code, self.text(data["message"], f"{where}.message"), tuple(dims))

    def error(self, value: Any, where: str) -> Failure:
        data = self.fields(value, Failure.__slots__, where)
        return Failure(
            self.maybe(self.whole, data["line"], f"{where}.line"),
            self.text(data["code"], f"{where}.code"),
            self.text(data["message"], f"{where}.message"),
            self.maybe(self.text, data["suggestion"], f"{where}.suggestion"),
        )


_FIELDS = tuple(
    "format version title torch roles sizes tokens dropped steps warnings error".split()  # noqa: SIM905
)


def read(data: Any) -> dict[str, Any]:
    """Check what ``Trace.to_dict`` writes and return the fields of a Trace.

    Raises: TraceError, naming the place.
    """
    reader = _Reader()
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise TraceError(f'Trace.from_dict: this is not a trace (no "format": "{FORMAT}")')
    if data.get("version") != VERSION:
        raise TraceError(
            f"Trace.from_dict: version {data.get('version')!r:.20} of the format is not known; "
            f"this attnlib reads version {VERSION}"
        )
    reader.fields(data, _FIELDS, "the trace")
    try:
        return {
            "title": reader.text(data["title"], "title"),
            "torch": reader.text(data["torch"], "torch"),
            "roles": reader.named(
                lambda v, at: reader.maybe(reader.text, v, at), data["roles"], "roles"
            ),
            "sizes": reader.named(reader.whole, data["sizes"], "sizes"),
            "tokens": reader.maybe(
                lambda v, at: reader.each(reader.text, v, at), data["tokens"], "tokens"
            ),
            "dropped": reader.whole(data["dropped"], "dropped"),
            "steps": reader.each(reader.step, data["steps"], "steps"),
            "warnings": reader.each(reader.warning, data["warnings"], "warnings"),
            "error": reader.maybe(reader.error, data["error"], "error"),
        }
    except RecursionError:
        raise TraceError("Trace.from_dict: nested too deep") from None
