"""`kubectl get books`: the books of an SQLite file, whose table somebody else fills, as an API of the cluster."""

import os
import sqlite3
import uuid
from contextlib import closing

from functions.aggregation.app import create_app
from functions.aggregation.kind import NAME, Column, Kind
from functions.aggregation.server import serve
from functions.aggregation.snapshot import Snapshot
from functions.aggregation.status import Unavailable
from functions.runtime import logs
from functions.runtime.server import Served
from functions.runtime.tls import Profile
from functions.webapp.resources import Resource

BOOKS = Resource("library.example.com", "v1", "Book", "books")

KIND = Kind(
    BOOKS,
    singular="book",
    description="A book of the library.",
    short_names=("bk",),
    columns=(
        NAME,
        Column("Title", "The title.", lambda book, _now: book["spec"]["title"]),
        Column("Author", "Who wrote it.", lambda book, _now: book["spec"]["author"]),
    ),
    fields=frozenset({"spec.author"}),
    properties={
        "spec": {
            "type": "object",
            "description": "What is on the cover.",
            "properties": {
                "title": {"type": "string", "description": "The title, as printed."},
                "author": {"type": "string", "description": "Who wrote it, the family name last."},
            },
        }
    },
)


def books():
    """All rows of the table, as objects."""
    try:
        with closing(sqlite3.connect(f"file:{os.environ['LIBRARY']}?mode=ro", uri=True)) as database:
            rows = database.execute("SELECT shelf, isbn, title, author FROM book").fetchall()
    except sqlite3.Error as error:
        raise Unavailable(f"the library: {error}") from error
    for shelf, isbn, title, author in rows:
        metadata = {"namespace": shelf, "name": isbn, "uid": str(uuid.uuid5(uuid.NAMESPACE_URL, f"urn:isbn:{isbn}"))}
        spec = {"title": title, "author": author}
        yield {"apiVersion": BOOKS.api_version, "kind": BOOKS.kind, "metadata": metadata, "spec": spec}


def make(parts):
    """The app; a watch takes a thread, of which there are 16."""
    return Served(create_app({KIND: Snapshot(books)}, parts, watches=8), lambda: None)


if __name__ == "__main__":
    logs.configure(os.environ)
    serve("books", make, Profile.load(os.environ), os.environ)
