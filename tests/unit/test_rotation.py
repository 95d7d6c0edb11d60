"""Files that are replaced under a running process."""

import pytest

from functions.runtime.rotation import RotatingFile


@pytest.fixture
def token(tmp_path):
    (tmp_path / "token").write_text("first\n")
    return RotatingFile(tmp_path / "token")


def test_a_replacement_is_used_from_the_next_reading_on(token, tmp_path):
    assert token.read() == "first"
    (tmp_path / "new").write_text("other")
    (tmp_path / "new").replace(tmp_path / "token")
    assert token.read() == "other"
    (tmp_path / "token").write_text("written in place")
    assert token.read() == "written in place"


def test_a_link_that_points_elsewhere_is_a_replacement(tmp_path):
    for name in ("a", "b"):
        (tmp_path / name).write_text(name)
    (tmp_path / "link").symlink_to("a")
    token = RotatingFile(tmp_path / "link")
    assert token.read() == "a"
    (tmp_path / "next").symlink_to("b")
    (tmp_path / "next").replace(tmp_path / "link")
    assert token.read() == "b"


@pytest.mark.parametrize("text", [None, b"", b" \n", b"\xff\xfe"], ids=["gone", "empty", "blank", "no text"])
def test_the_last_good_text_stays_until_there_is_another(token, tmp_path, text):
    token.read()
    if text is None:
        (tmp_path / "token").unlink()
    else:
        (tmp_path / "token").write_bytes(text)
    assert token.read() == "first"
    (tmp_path / "token").write_text("second")
    assert token.read() == "second"


def test_a_file_that_never_was_is_empty(tmp_path):
    assert not RotatingFile(tmp_path / "token").read()
