"""Triples of ids: exact numbers, and faults with their lines."""

import numpy as np
import pytest
from dataset_folders import generator, write
from grids import size

from kgeval.errors import DataError
from kgeval.formats.id_triples import read_id_triples

NAMES = ("entities", "relations")


@pytest.mark.parametrize("seed", range(2))
def test_random_files_equal_a_naive_reader(tmp_path, seed):
    """Or both refuse the file, and the line is the first wrong one."""
    for case in range(size(50, 3000)):
        rng = generator(10_000 * seed + case)
        n_entities, n_relations = rng.choice([(5, 3), (3, 5), (10**9, 2), (10**18 - 1, 10**18 - 1)])
        rows = [[rng.randrange(n_entities), rng.randrange(n_relations), rng.randrange(n_entities)] for _ in range(4)]
        words = [[str(number) for number in row] for row in rows]
        if rng.random() < 0.5:
            row, i = rng.randrange(4), rng.randrange(3)
            words[row][i] = rng.choice(
                ["x", "-1", "1.0", "+1", "1e3", "", str(10**18), "\u0661", "1_0", "0x1", "00", "7"]
            )
        lines = [rng.choice(["\t", " ", "  ", " \t"]).join(row) + rng.choice(["", " ", "\t"]) for row in words]
        if rng.random() < 0.1:
            lines.insert(rng.randrange(4), rng.choice(["", " "]))
        end = rng.choice(["\n", "\r\n", "\r"])
        text = rng.choice(["", "\ufeff"]) + end.join(lines) + rng.choice(["", end, end * 3])
        file = write(tmp_path, {"x.txt": text}) / "x.txt"
        expected, wrong = [], None
        for number, line in enumerate(lines, start=1):
            parts = [part for part in line.replace("\t", " ").split(" ") if part]
            if len(parts) != 3 or not all(part.isascii() and part.isdecimal() and len(part) < 19 for part in parts):
                wrong = f"line {number}: expected three ids"
                break
            expected.append([int(part) for part in parts])
        if wrong is None:
            sizes = (n_entities, n_relations, n_entities)
            for number, row in enumerate(expected, start=1):
                outside = [i for i in range(3) if row[i] >= sizes[i]]
                if outside:
                    kind = "relation" if outside[0] == 1 else "entity"
                    wrong = f"line {number}: the {kind} id {row[outside[0]]} is not in 0 .. {sizes[outside[0]] - 1}"
                    break
        if wrong is None:
            ids = read_id_triples(file, "hrt", n_entities, n_relations, NAMES)
            assert ids.dtype == np.int64
            assert ids.tolist() == expected, case
        else:
            with pytest.raises(DataError) as caught:
                read_id_triples(file, "hrt", n_entities, n_relations, NAMES)
            assert f"{file}, {wrong}" in str(caught.value), case
