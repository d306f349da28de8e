"""The errors: one family, each also the built-in error that a reader would expect."""

import pytest

from attnlib import AttnError, DeviceError, DtypeError, MaskError, ShapeError, TraceError, errors


@pytest.mark.parametrize(
    ("error", "bases"),
    [
        (ShapeError, (AttnError, ValueError)),
        (MaskError, (ShapeError, AttnError, ValueError)),
        (DtypeError, (AttnError, TypeError)),
        (DeviceError, (AttnError, RuntimeError)),
        (TraceError, (AttnError,)),
        (AttnError, (Exception,)),
    ],
)
def test_each_error_has_its_family(error: type, bases: tuple[type, ...]) -> None:
    assert all(issubclass(error, base) for base in bases)


def test_a_wrong_type_is_not_a_wrong_value() -> None:
    assert not issubclass(DtypeError, ValueError)
    assert not issubclass(ShapeError, TypeError)


def test_every_error_is_in_the_family_and_says_what_it_refuses() -> None:
    own = [
        e for e in vars(errors).values() if isinstance(e, type) and e.__module__ == "attnlib.errors"
    ]
    assert len(own) == 6
    assert all(issubclass(error, AttnError) and error.__doc__ for error in own)
