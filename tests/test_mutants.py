"""The mutants of `mutants.py` still fit the source, so that the mutation test can run."""

import ast

from mutants import MUTANTS, NOT_APPLICABLE, ROOT, Mutant, mutated


def parsing_error(source):
    """Why the text is no Python; an empty text if it is."""
    try:
        ast.parse(source)
    except SyntaxError as error:
        return str(error)
    return ""


def wrong_mutants(file, mutants):
    """Messages for the mutants of one file that do not fit it, or are no Python.

    Those that stand apart are parsed together, which takes a fraction of the time; each alone if that fails.
    """
    source = (ROOT / "kgeval" / file).read_text(encoding="utf-8")
    together, overlapping, wrong = source, [], []
    for mutant in mutants:
        try:
            mutated(source, mutant)
        except ValueError as error:
            wrong.append(str(error))
            continue
        try:
            together = mutated(together, mutant)
        except ValueError:
            overlapping.append(mutant)
    left = [m for m in mutants if source.count(m.old) == 1] if parsing_error(together) else overlapping
    errors = {mutant.name: parsing_error(mutated(source, mutant)) for mutant in left}
    return wrong + [f"{name}: {error}" for name, error in errors.items() if error]


def test_every_mutant_fits_the_source():
    """The text of a mutant stands once in its file, and what replaces it is Python; its tests exist."""
    wrong = []
    for file in sorted({mutant.file for mutant in MUTANTS}):
        wrong += wrong_mutants(file, [mutant for mutant in MUTANTS if mutant.file == file])
    missing = {mutant.tests for mutant in MUTANTS if not (ROOT / "tests" / mutant.tests).is_file()}
    assert (wrong, missing) == ([], set())


def test_a_mutant_that_does_not_fit_is_named():
    """A text that is not there, one that is there twice, and one that is no Python, each beside a mutant that fits."""
    file = "errors.py"
    right = Mutant("C1", "fits", file, "", "class KgevalError(", "class KgevalError(")
    lacking = right._replace(name="lacking", old="no such text")
    twice = right._replace(name="twice", old="class ")
    broken = right._replace(name="broken", new="class class KgevalError(")
    assert wrong_mutants(file, [right]) == []
    assert [m.split(":")[0] for m in wrong_mutants(file, [right, lacking, twice])] == ["lacking", "twice"]
    assert [m.split(":")[0] for m in wrong_mutants(file, [broken, right])] == ["broken"]


def test_every_trap_has_a_mutant_or_a_reason():
    """C1 to C38, and the ways in that gave wrong numbers; each mutant with a name of its own."""
    numbers = {mutant.number for mutant in MUTANTS} | {number for number, _ in NOT_APPLICABLE}
    assert {number for number in numbers if number.startswith("C")} == {f"C{i}" for i in range(1, 39)}
    assert {number for number in numbers if number.startswith("S")} >= {"S4", "S7", "S9", "S10", "S11", "S12", "S15"}
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS)
