func.func @kept(%a: i32) -> i32 {
  %0 = arith.constant 3 : i32
  %1 = arith.muli %a, %0 : i32
  return %1 : i32
}

func.func @loops(%m: memref<8xf32>, %n: index) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %two = arith.constant 2.0 : f32
  scf.for %i = %zero to %n step %one {
    %v = memref.load %m[%i] : memref<8xf32>
    %c = arith.addf %two, %two : f32
    %w = arith.mulf %v, %c : f32
    memref.store %w, %m[%i] : memref<8xf32>
  }
  return
}

func.func private @unused(i32) -> i32
