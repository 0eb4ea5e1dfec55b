module @jit_simple attributes {jax.uses_shape_polymorphism = false, mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<8x16xi32>, %arg1: tensor<8x16xi32>) -> (tensor<8x16xi32> {jax.result_info = "result[0]"}, tensor<8x16xi32> {jax.result_info = "result[1]"}) {
    %0 = stablehlo.add %arg0, %arg1 : tensor<8x16xi32>
    %1 = stablehlo.subtract %arg0, %arg1 : tensor<8x16xi32>
    return %0, %1 : tensor<8x16xi32>, tensor<8x16xi32>
  }
}
