"""The names before a module once a part of it is another. That MLIR has them so is compared in test_printed.py."""

import pytest

from irwidget.readers.aliases import arranged

NAMES = """\
#pipe = #hal.pipe<#z, "#gone">
#gone = #x.gone<#only>
#only = #x.only
#map = affine_map<(d0) -> (0)>
#map4 = affine_map<(d0) -> (d0)>
#set1 = affine_set<(d0) : (d0 == 0)>
#z = #x.z<2>
#c = #x.c<1>
"""


def test_names_are_in_order_and_none_is_left_over():
    text = arranged(f'{NAMES}module {{\n  a #map4, #pipe, "#map #gone"\n  b #map, #c, #map4, #set1\n}}\n')
    assert text == (
        "#c = #x.c<1>\n#map = affine_map<(d0) -> (d0)>\n#map1 = affine_map<(d0) -> (0)>\n"
        '#set = affine_set<(d0) : (d0 == 0)>\n#z = #x.z<2>\n#pipe = #hal.pipe<#z, "#gone">\n'
        'module {\n  a #map, #pipe, "#map #gone"\n  b #map1, #c, #map, #set\n}\n'
    )
    assert arranged(text) == text


@pytest.mark.parametrize("length", [2, 3000])
def test_names_of_a_damaged_log_may_go_round_in_a_circle(length):
    names = "".join(f"#a{i}x = #x<#a{(i + 1) % length}x>\n" for i in range(length))
    assert arranged(f"{names}module {{ #a0x }}\n").endswith("module { #a0x }\n")
