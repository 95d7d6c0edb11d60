"""kubectl reads books out of somebody else's SQLite table, as the page on it says."""

import os
from pathlib import Path

import pytest

from functions.dev.cluster import KubectlError
from tests import docs
from tests.aggregation import books as program
from tests.aggregation.conftest import SHELF
from tests.cluster.admin import until

PAGE = Path(__file__).resolve().parents[2] / "docs" / "books.md"


def test_the_page_shows_the_program_that_runs_here():
    (code,) = (block.text for block in docs.blocks(PAGE) if block.tag == "python")
    assert code == Path(program.__file__).read_text()


def test_the_page_tells_the_truth(plane, books, tmp_path):
    programs = tmp_path / "kubectl"
    programs.symlink_to(plane._kubectl)
    environ = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "KUBECONFIG": str(plane.kubeconfig)}
    assert docs.run(PAGE, {**environ, "KUBECACHEDIR": str(tmp_path / "cache")}, tmp_path) == 2


def test_a_watch_shows_books_that_come_change_and_go(plane, books, library):
    watch = ("get", "books", "-n", "novels", "--watch", "--output-watch-events", "--no-headers")
    with books.following(*watch) as following:
        seen = len(following.lines())
        library.run(SHELF, ("novels", "ulysses", "Ulysses", "James Joyce"))
        until(lambda: len(following.lines()) == seen + 1)
        library.run("UPDATE book SET title = 'Ulysses, corrected' WHERE isbn = 'ulysses'")
        until(lambda: len(following.lines()) == seen + 2)
        library.run("DELETE FROM book WHERE isbn = 'ulysses'")
        until(lambda: len(following.lines()) == seen + 3)
    assert [line.split()[:4] for line in following.lines()[seen:]] == [
        ["ADDED", "ulysses", "Ulysses", "James"],
        ["MODIFIED", "ulysses", "Ulysses,", "corrected"],
        ["DELETED", "ulysses", "Ulysses,", "corrected"],
    ]


def test_a_selected_watch_sees_a_book_change_hands(plane, books, library):
    selector = ("--field-selector", "spec.author=Jane Austen", "--output-watch-events", "--no-headers", "--watch-only")
    with books.following("get", "books", "-n", "novels", *selector) as following:
        library.run("UPDATE book SET author = 'A Lady' WHERE isbn = 'emma'")
        until(lambda: len(following.lines()) == 1)
        library.run("UPDATE book SET author = 'Jane Austen' WHERE isbn = 'emma'")
        until(lambda: len(following.lines()) == 2)
    assert [line.split()[:2] for line in following.lines()] == [["DELETED", "emma"], ["ADDED", "emma"]]


def test_a_library_that_is_away_is_told_and_found_again(plane, books, library):
    away = library.path.with_suffix(".away")
    library.path.rename(away)
    with pytest.raises(KubectlError, match=r"\(ServiceUnavailable\): the library: unable to open database file"):
        plane.kubectl("get", "books", "-n", "novels")
    assert "books" in plane.kubectl("api-resources", "--api-group=library.example.com", "-o", "name")
    away.rename(library.path)
    assert "dune" in plane.kubectl("get", "books", "-n", "novels")
