"""Modules stay small enough to read in one go."""

from tests.unit.gates.module_sizes import FOLDERS, line_counts, ninth_decile, table


def test_nine_of_ten_modules_are_under_420_lines() -> None:
    product = [count for folder in FOLDERS if folder != "tests" for count in line_counts(folder).values()]
    assert ninth_decile(product) < 420


def test_the_table_names_every_folder() -> None:
    printed = table()
    assert all(folder in printed for folder in FOLDERS)
