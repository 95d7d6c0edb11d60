"""Settings: defaults that serve, and errors that name the variable, its value and the cure."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from functions.reconcile.settings import Settings
from functions.runtime.listening import Address, everywhere
from functions.runtime.settings import SettingsError, integer, names, read, seconds, share, switch


def test_an_empty_environment_gives_the_defaults():
    assert Settings.load({}) == Settings(at=Address(everywhere(), 8080))


def test_every_variable_is_read():
    found = Settings.load(
        {
            "WEBAPP_API_GROUP": "mycompany.com",
            "WEBAPP_NAMESPACES": " blue, green,,blue ",
            "LISTEN_HOST": "127.0.0.1",
            "PORT": "9000",
            "RECONCILE_THREADS": "3",
            "RECONCILE_DEADLINE_SECONDS": "2.5",
        }
    )
    assert (found.group, found.namespaces) == ("mycompany.com", ("blue", "green"))
    assert (str(found.at), found.threads, found.deadline_seconds) == ("127.0.0.1:9000", 3, 2.5)


def test_a_blank_variable_counts_as_unset():
    assert read({"PORT": "  "}, "PORT", integer(1, 9), 5) == 5


@pytest.mark.parametrize(
    ("name", "value", "cure"),
    [
        ("LISTEN_HOST", "localhost", "such as 127.0.0.1 or ::1"),
        ("PORT", "0", "from 1 to 65535"),
        ("PORT", "65536", "from 1 to 65535"),
        ("PORT", "8080.0", "from 1 to 65535"),
        ("PORT", "-1", "from 1 to 65535"),
        ("PORT", "\u00b2", "from 1 to 65535"),
        ("PORT", "\u0661", "from 1 to 65535"),
        ("RECONCILE_THREADS", "many", "from 1 to 256"),
        ("RECONCILE_DEADLINE_SECONDS", "0", "from 1 to 600"),
        ("RECONCILE_DEADLINE_SECONDS", "nan", "from 1 to 600"),
        ("RECONCILE_DEADLINE_SECONDS", "inf", "from 1 to 600"),
        ("RECONCILE_DEADLINE_SECONDS", "1s", "from 1 to 600"),
    ],
)
def test_a_wrong_value_is_named_with_its_cure(name, value, cure):
    with pytest.raises(SettingsError, match=cure) as caught:
        Settings.load({name: value})
    assert str(caught.value).startswith(f"{name}={value!r}: must be")


@pytest.mark.parametrize(("text", "found"), [("true", True), ("False", False)])
def test_a_switch_is_true_or_false(text, found):
    assert switch(text) is found


def test_a_switch_is_nothing_else():
    with pytest.raises(ValueError, match="must be true or false"):
        switch("1")


@given(st.text())
def test_no_text_raises_anything_but_a_settings_error(text):
    for cast in (integer(1, 9), seconds(1, 9), share, names, switch):
        with suppress(SettingsError):
            read({"X": text}, "X", cast, None)
