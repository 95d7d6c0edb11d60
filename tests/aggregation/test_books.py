"""kubectl reads books out of somebody else's SQLite table."""


def test_kubectl_lists_books_with_their_columns(plane, books):
    printed = [line.split() for line in plane.kubectl("get", "books", "-n", "novels").splitlines()]
    assert printed == [
        ["NAME", "TITLE", "AUTHOR"],
        ["dune", "Dune", "Frank", "Herbert"],
        ["emma", "Emma", "Jane", "Austen"],
        ["persuasion", "Persuasion", "Jane", "Austen"],
    ]
