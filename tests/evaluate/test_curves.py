from __future__ import annotations

from lxml import etree

from linnet.evaluate.curves import draw

SVG = "{http://www.w3.org/2000/svg}"


def points_of(picture: str) -> list[list[tuple[float, float]]]:
    lines = etree.fromstring(picture).iter(f"{SVG}polyline")
    return [[tuple(map(float, pair.split(","))) for pair in line.get("points", "").split()] for line in lines]  # type: ignore[misc]


def test_higher_numbers_are_higher_and_later_ones_further_right() -> None:
    [[first, second, third]] = points_of(draw({"loss": [(1, 3.0), (2, 1.0), (3, 2.0)]}, title="t", x="x", y="y"))
    assert first[0] < second[0] < third[0]
    assert first[1] < third[1] < second[1]  # down the page


def test_logarithmic_axes_give_equal_steps_to_equal_factors() -> None:
    [[a, b, c]] = points_of(draw({"speed": [(1, 10), (10, 100), (100, 1000)]}, title="t", x="x", y="y", log=True))
    assert round(b[0] - a[0], 1) == round(c[0] - b[0], 1)
    assert round(a[1] - b[1], 1) == round(b[1] - c[1], 1)


def test_labels_are_texts_and_lines_without_points_are_left_out() -> None:
    picture = draw({"<b>&": [(0, 0.0)], "nothing": []}, title='"', x="x", y="y")
    assert "<b>" not in picture
    assert "nothing" not in picture
    assert len(points_of(picture)) == 1


def test_a_picture_of_nothing_is_a_picture() -> None:
    assert points_of(draw({}, title="t", x="x", y="y")) == []
