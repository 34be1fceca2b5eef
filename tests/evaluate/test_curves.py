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


def test_bands_lie_behind_their_lines_and_the_axis_can_begin_near_them() -> None:
    lines = {"one": [(0, 0.6), (10, 0.7)], "two": [(0, 0.6)]}
    picture = draw(lines, title="", x="labels", y="f1", close=True, bands={"one": [(0, 0.55, 0.65), (10, 0.65, 0.75)]})
    assert picture.count("<polygon ") == 1
    assert picture.index("<polygon ") < picture.index("<polyline ")
    assert ">0.2<" not in picture  # an axis from 0 would have it
    assert ">0.2<" in draw(lines, title="", x="labels", y="f1")


def test_lines_of_the_same_colour_differ_in_their_dashes() -> None:
    picture = draw({str(number): [(0, 0), (1, number)] for number in range(8)}, title="", x="x", y="y")
    assert picture.count("stroke-dasharray") == 2 * 2  # the line and its sample in the legend
