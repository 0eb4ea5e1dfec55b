module {
  func.func public @main(%arg0: tensor<1000xf32>) -> tensor<1000xf32> {
    %0 = "stablehlo.sort"(%arg0) <{dimension = 0 : i64, is_stable = false}> ({
    ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>):
      %1 = stablehlo.compare NE, %arg1, %arg2, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %1 : tensor<i1>
    }) : (tensor<1000xf32>) -> tensor<1000xf32>
    return %0 : tensor<1000xf32>
  }
}
