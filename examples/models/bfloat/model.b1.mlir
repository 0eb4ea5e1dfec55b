module @jit_bfloat attributes {jax.uses_shape_polymorphism = false, mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<1x8xbf16>, %arg1: tensor<8x6xbf16>, %arg2: tensor<6xbf16>) -> (tensor<1x6xbf16> {jax.result_info = "result[0]"}) {
    %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0] : (tensor<1x8xbf16>, tensor<8x6xbf16>) -> tensor<1x6xbf16>
    %1 = stablehlo.broadcast_in_dim %arg2, dims = [1] : (tensor<6xbf16>) -> tensor<1x6xbf16>
    %2 = stablehlo.add %0, %1 : tensor<1x6xbf16>
    %3 = stablehlo.tanh %2 : tensor<1x6xbf16>
    return %3 : tensor<1x6xbf16>
  }
}
