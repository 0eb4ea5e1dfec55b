module {
  func.func public @main(%arg0: tensor<2x8xf32>) -> tensor<2x9xf32> {
    %0:2 = stablehlo.custom_call @TopK(%arg0) : (tensor<2x8xf32>) -> (tensor<2x9xf32>, tensor<2x9xi32>)
    return %0#0 : tensor<2x9xf32>
  }
}
