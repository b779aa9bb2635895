"""The mutants of `mutants.py` still fit the source, so that the mutation test can run."""

import ast

from mutants import MUTANTS, NOT_APPLICABLE, ROOT, mutated


def test_every_mutant_fits_the_source():
    """The text of a mutant stands once in its file, and what replaces it is Python; its tests exist."""
    wrong = []
    for mutant in MUTANTS:
        try:
            ast.parse(mutated((ROOT / "kgeval" / mutant.file).read_text(encoding="utf-8"), mutant))
        except (OSError, SyntaxError, ValueError) as error:
            wrong.append(str(error))
        if not (ROOT / "tests" / mutant.tests).is_file():
            wrong.append(f"{mutant.name}: no file tests/{mutant.tests}")
    assert wrong == []


def test_every_trap_has_a_mutant_or_a_reason():
    """C1 to C38, and the ways in that gave wrong numbers; each mutant with a name of its own."""
    numbers = {mutant.number for mutant in MUTANTS} | {number for number, _ in NOT_APPLICABLE}
    assert {number for number in numbers if number.startswith("C")} == {f"C{i}" for i in range(1, 39)}
    assert {number for number in numbers if number.startswith("S")} >= {"S4", "S7", "S9", "S10", "S11", "S12", "S15"}
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS)
