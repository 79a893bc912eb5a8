"""What is read off the lines of a module in generic form."""

from irwidget.reducing.operations import result_types, results_of_function, split


def test_types_are_read_off_a_line():
    assert result_types('  %0:2 = "a.b"(%1) {x = "->"} : (i32) -> (tensor<2xf32>, (i32) -> i32)') == [
        "tensor<2xf32>",
        "(i32) -> i32",
    ]
    assert result_types('  "a.b"() : () -> ()') == []
    assert result_types('  %0 = "a.b"() : () -> !torch.vtensor<[2,4],f32>') == ["!torch.vtensor<[2,4],f32>"]
    assert split('f32, "a,b", tuple<i32, f32>, (i32, i32) -> i32') == [
        "f32",
        '"a,b"',
        "tuple<i32, f32>",
        "(i32, i32) -> i32",
    ]
    assert split("a, , b, ") == ["a", "", "b"]
    assert split('{x = "\\", {"}, <(i32) -> i32>, ') == ['{x = "\\", {"}', "<(i32) -> i32>"]
    assert results_of_function("!llvm.func<struct<(f32, ptr)> (i32, ...)>") == ["struct<(f32, ptr)>"]
