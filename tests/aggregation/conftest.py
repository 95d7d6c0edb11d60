"""A control plane whose aggregator leads to the library."""

import sqlite3
from contextlib import closing

import pytest

from functions.dev.controlplane import ControlPlane
from functions.dev.processes import ProcessGroup
from functions.webapp.resources import SYSTEM_NAMESPACE
from tests.aggregation.books import BOOKS
from tests.aggregation.rig import AggregatedApi

SHELF = "INSERT INTO book VALUES (?, ?, ?, ?)"
STOCK = (
    ("novels", "dune", "Dune", "Frank Herbert"),
    ("novels", "emma", "Emma", "Jane Austen"),
    ("novels", "persuasion", "Persuasion", "Jane Austen"),
    ("poems", "odes", "Odes", "John Keats"),
)


@pytest.fixture(scope="package")
def plane():
    with ControlPlane() as control_plane:
        for name in (SYSTEM_NAMESPACE, "novels", "poems"):
            control_plane.kubectl("create", "namespace", name)
        yield control_plane


class Library:
    """The books' table, as its owner writes it."""

    def __init__(self, path):
        self.path = path
        self.run("CREATE TABLE book (shelf TEXT, isbn TEXT, title TEXT, author TEXT, PRIMARY KEY (shelf, isbn))")
        for row in STOCK:
            self.run(SHELF, row)

    def run(self, statement, values=()):
        with closing(sqlite3.connect(self.path)) as database, database:
            database.execute(statement, values)


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    return Library(tmp_path_factory.mktemp("library") / "books.sqlite")


@pytest.fixture(scope="module")
def books(plane, library):
    """One replica of the books' API, registered."""
    with (
        ProcessGroup() as group,
        AggregatedApi(plane, group, "books", BOOKS, "tests.aggregation.books", LIBRARY=str(library.path)) as api,
    ):
        yield api
