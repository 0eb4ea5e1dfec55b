module @jit_empty attributes {jax.uses_shape_polymorphism = false, mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<4x0xf32>, %arg1: tensor<4x2xf32>, %arg2: tensor<0x2xf32>, %arg3: tensor<2xf32>) -> (tensor<4xf32> {jax.result_info = "result[0]"}, tensor<4x2xf32> {jax.result_info = "result[1]"}, tensor<4x0xf32> {jax.result_info = "result[2]"}) {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.concatenate %arg0, %arg1, dim = 1 : (tensor<4x0xf32>, tensor<4x2xf32>) -> tensor<4x2xf32>
    %1 = stablehlo.reduce(%0 init: %cst) applies stablehlo.add across dimensions = [1] : (tensor<4x2xf32>, tensor<f32>) -> tensor<4xf32>
    %2 = stablehlo.dot_general %arg0, %arg2, contracting_dims = [1] x [0] : (tensor<4x0xf32>, tensor<0x2xf32>) -> tensor<4x2xf32>
    %3 = stablehlo.add %arg1, %2 : tensor<4x2xf32>
    %4 = stablehlo.broadcast_in_dim %arg3, dims = [1] : (tensor<2xf32>) -> tensor<1x2xf32>
    %5 = stablehlo.broadcast_in_dim %4, dims = [0, 1] : (tensor<1x2xf32>) -> tensor<4x2xf32>
    %6 = stablehlo.add %3, %5 : tensor<4x2xf32>
    %7 = stablehlo.negate %arg0 : tensor<4x0xf32>
    return %1, %6, %7 : tensor<4xf32>, tensor<4x2xf32>, tensor<4x0xf32>
  }
}
