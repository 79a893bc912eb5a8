"""The names before a module once a part of it is another. That MLIR has them so is compared in test_printed.py."""

import pytest

import irwidget
from irwidget.readers.aliases import arranged, shared
from irwidget.trace import Location
from tests.readers.test_open import BANNER

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


LONG = "#weights = #util.composite<8xi8, [\n    dense<0> : vector<4xi8>,\n    dense<[1, 2]> : vector<2xi16>,\n]>\n"
WHOLE = """\
#map = affine_map<(d0) -> (d0)>
{long}module {{
  util.global private @w = #weights
  func.func @f() attributes {{m = #map}} {{
    {line}
    return
  }}
}}
"""


def test_what_a_name_stands_for_may_go_on_over_lines():
    """As IREE prints the constants that it packs."""
    first, second = (WHOLE.format(long=LONG, line=line) for line in ("x.a", "x.c = #weights"))
    alone = LONG.replace("weights", "w2") + "func.func @f() attributes {m = affine_map<(d0) -> (d0)>} {\n  x.c = #w2\n"
    log = f"{BANNER.format('A (a)')}{first}\n{BANNER.format('B (b)')}{alone}  return\n}}\n\nhello\n"
    (low,) = irwidget.open(log)
    assert [dump.text for dump in low.dumps] == [first, second]
    assert [one.message for one in low.diagnostics] == ["hello"]


def test_names_that_go_on_over_lines_are_arranged_whole():
    unused = LONG.replace("weights", "unused")
    text = WHOLE.format(long=f"{unused}{LONG}", line="x.a")
    in_order = WHOLE.format(long="", line="x.a").replace("module {", f"{LONG}module {{", 1)
    assert arranged(text) == in_order


def test_pretty_places_go_on_with_their_callers():
    """As `--mlir-pretty-debuginfo` prints them."""
    text = "#loc1 = x.py:1:2\n#loc2 = #loc1\n at #loc3\n at x.py:7:1\nmodule {\n} #loc2\n#loc3 = #loc1\n at x.py:9:9\n"
    (low,) = irwidget.open(f"{BANNER.format('A (a)')}{text}\n{BANNER.format('B (b)')}{text}\n")
    called = Location("x.py", 1, 2, Location("x.py", 9, 9, Location("x.py", 7, 1)))
    assert [(dump.text, dump.locations) for dump in low.dumps] == [("module {\n}\n", (called, called))] * 2
    assert low.diagnostics == ()


SPELT = (
    '"any.op"() {{t = [{tag}], w = <#x.wide<!y.ptr<vector<4xi8>>, 1>>}} : () -> vector<4xi8>\n'
    'x.y {{s = "<id = #tag>", l = 3 >= 2, a = {type}, b = foo<id = "dummy arg data", members = {{<#type, 0>}}>}}'
)
TAGS = """\
#root = #llvm.tbaa_root<id = "root <x">
#wide = #x.wide<!y.ptr<vector<4xi8>>, 1>
#type = #llvm.tbaa_type_desc<id = "any access", members = {<#root, 0>}>
#type1 = #llvm.tbaa_type_desc<id = "dummy arg data", members = {<#type, 0>}>
#tag = #llvm.tbaa_tag<base_type = #type1, access_type = #type1, offset = 0>
"""


def test_names_are_found_in_what_is_spelt_out_within_what_is_spelt_out():
    """What is inside of an attribute is printed without its kind, where that is known."""
    inner = '<id = "any access", members = {<#llvm.tbaa_root<id = "root <x">, 0>}>'
    dummy = f'<id = "dummy arg data", members = {{<#llvm.tbaa_type_desc{inner}, 0>}}>'
    tag = f"#llvm.tbaa_tag<base_type = {dummy}, access_type = {dummy}, offset = 0>"
    named = SPELT.format(tag="#tag", type="#type1").replace("<#x.wide<!y.ptr<vector<4xi8>>, 1>>", "<#wide>")
    spelt = SPELT.format(tag=tag, type=f"#llvm.tbaa_type_desc{dummy}")
    assert shared(f"{TAGS}module {{\n}}\n", "", spelt) == ("", named)
    own = f"#t = {tag}\n#u = #x.mine<{dummy}>\n"
    assert shared(f"{TAGS}module {{\n}}\n", own, "x.y #t, #u") == ("#u = #x.mine<#type1>\n", "x.y #tag, #u")


@pytest.mark.parametrize("text", ["<" * 100_000, "#x.a<" * 50_000 + ">" * 50_000, ">" * 100_000, '"<' * 50_000])
def test_brackets_that_do_not_close_take_no_time_with_their_square(text):
    assert shared(f"{TAGS}module {{\n}}\n", "", text) == ("", text)


def test_what_two_names_stand_for_without_their_kinds_is_none_of_them():
    """`layout(<...>)` may be either where both have the same in their brackets."""
    inner = "<bindings = [a, b, c], flags = none>"
    whole = f"#p = #hal.pipe{inner}\n#q = #vm.queue{inner}\nmodule {{\n  x.y layout(#p) queue(#q)\n}}\n"
    part = f"x.y layout({inner}) queue(#vm.queue{inner})\n"
    assert shared(whole, "", part) == ("", f"x.y layout({inner}) queue(#q)\n")
    one = whole.replace(f"#q = #vm.queue{inner}\n", "").replace("#q", "1")
    assert shared(one, "", f"x.y layout({inner})\n") == ("", "x.y layout(#p)\n")


def test_what_is_named_in_a_name_may_be_spelt_out_with_brackets_of_few_letters():
    """As HEIR has them: `<>` is a key in a ciphertext, and anything elsewhere; sizes may stand right before a name."""
    names = (
        "#key = #lwe.key<>\n#one = #lwe.encoding<factor = 1>\n#space = #lwe.space<degree = 1024, key = #key>\n"
        "!ct = !lwe.ciphertext<space = #space, encoding = #one, key = #key>\n!sk = !lwe.secret_key\n"
    )
    space, full = "<degree = 1024, key = <>>", "!lwe.ciphertext<space = {}, encoding = {}, key = <>>"
    for encoding in ("<factor = 1>", "#lwe.encoding<factor = 1>"):
        ciphertext = full.format(space, encoding)
        part = f"x.y %a, <> : tensor<4x{ciphertext}>, !lwe.secret_key, !lwe.secret_key.b, vector<[4]x!lwe.secret_key>\n"
        assert shared(f"{names}module {{\n}}\n", "", part) == (
            "",
            "x.y %a, <> : tensor<4x!ct>, !sk, !lwe.secret_key.b, vector<[4]x!sk>\n",
        )
    assert (
        arranged(f"{names}module {{\n  x.y tensor<4x!sk>\n}}\n")
        == "!sk = !lwe.secret_key\nmodule {\n  x.y tensor<4x!sk>\n}\n"
    )


def test_an_operation_may_spell_out_what_has_a_name_elsewhere():
    """It is left as it is where the module has it so."""
    whole = "!gk = !lattigo.galois_key<galoisElement = 7937 : i64>\nmodule {{\n  x.gen {} : !gk\n}}\n"
    part = "x.gen <galoisElement = 7937 : i64> : !lattigo.galois_key<galoisElement = 7937 : i64>\n"
    for spelling in ("!gk", "<galoisElement = 7937 : i64>"):
        assert shared(whole.format(spelling), "", part) == ("", f"x.gen {spelling} : !gk\n")
