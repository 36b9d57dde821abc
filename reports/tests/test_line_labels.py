import itertools
import random

import pytest
from peakmark_reports.figure_style import joined_label, short_names, shortened, spread


def overlaps(centres, sizes):
    """Returns pairs of neighbours that overlap by more than rounding."""
    order = sorted(range(len(centres)), key=lambda i: centres[i])
    return [
        (i, j)
        for i, j in zip(order, order[1:])
        if centres[j] - centres[i] < (sizes[i] + sizes[j]) / 2 - 1e-9 * max(map(abs, centres), default=1)
    ]


def test_labels_that_do_not_overlap_stay():
    assert spread([10, 50, 90], [8, 8, 8], 0, 100) == [10, 50, 90]
    assert spread([], [], 0, 1) == []


def test_overlapping_labels_move_by_equal_distances():
    assert spread([50, 50], [10, 10], 0, 100) == pytest.approx([45, 55])
    # Equal positions keep their order, and sizes count.
    assert spread([50, 50], [20, 10], 0, 100) == pytest.approx([42.5, 57.5])


def test_labels_stay_between_the_ends():
    assert spread([0, 0], [10, 10], 0, 100) == pytest.approx([5, 15])
    assert spread([100, 99], [10, 10], 0, 100) == pytest.approx([95, 85])
    # Without enough space, they exceed both ends equally.
    assert spread([5, 5, 5], [10, 10, 10], 0, 20) == pytest.approx([0, 10, 20])


def test_spread_is_the_least_squares_solution():
    """Compares with all placements on a grid that keep the order."""
    wanted, sizes = [2.0, 3.0, 3.5, 9.0], [2.0, 2.0, 2.0, 2.0]
    cost = lambda centres: sum((one - other) ** 2 for one, other in zip(centres, wanted))  # noqa: E731
    grid = [i / 4 for i in range(4, 45)]
    best = min(
        cost(centres)
        for centres in itertools.combinations(grid, 4)
        if all(b - a >= 2 for a, b in zip(centres, centres[1:])) and centres[-1] <= 11
    )
    assert cost(spread(wanted, sizes, 0, 12)) <= best + 1e-9


def test_many_labels_never_overlap():
    draw = random.Random(7)
    for count in (1, 2, 20, 200):
        wanted = [draw.choice([1.0, 50.0, draw.uniform(0, 100)]) for _ in range(count)]
        sizes = [draw.uniform(1, 9) for _ in range(count)]
        centres = spread(wanted, sizes, 0, 1000)
        assert overlaps(centres, sizes) == []
        assert all(0 <= c - s / 2 + 1e-9 and c + s / 2 <= 1000 + 1e-9 for c, s in zip(centres, sizes))


def test_names_are_cut_in_the_middle_and_stay_different():
    assert shortened("coords1d", 8) == "coords1d"
    assert shortened("back_projection_whole", 11) == "back_…whole"
    assert len(shortened("x" * 100, 24)) == 24
    names = [f"{'a' * 40}{middle}{'b' * 40}" for middle in ("one", "two")]
    short = short_names(names)
    assert short == {names[0]: "…aaaaonebbbb…", names[1]: "…aaaatwobbbb…"}
    assert short_names([]) == {} and short_names(["a"]) == {"a": "a"}


def test_joined_labels():
    assert joined_label(["a", "b"], True, "8 MiB") == "a = b 8\u00a0MiB"
    assert joined_label(["coords1d", "computed", "floor"], False, "1.25 GiB") == "coords1d ≈ computed ≈\nfloor 1.25\u00a0GiB"
    assert joined_label([f"v{i}" for i in range(20)], True, "1 B") == "v0 = v1 = v2 = 17\u00a0more\n1\u00a0B"
