module @jit_bfloat attributes {jax.uses_shape_polymorphism = false, mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<4x8xbf16>, %arg1: tensor<8x6xbf16>, %arg2: tensor<6xbf16>) -> (tensor<4x6xbf16> {jax.result_info = "result[0]"}) {
    %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0] : (tensor<4x8xbf16>, tensor<8x6xbf16>) -> tensor<4x6xbf16>
    %1 = stablehlo.broadcast_in_dim %arg2, dims = [1] : (tensor<6xbf16>) -> tensor<1x6xbf16>
    %2 = stablehlo.broadcast_in_dim %1, dims = [0, 1] : (tensor<1x6xbf16>) -> tensor<4x6xbf16>
    %3 = stablehlo.add %0, %2 : tensor<4x6xbf16>
    %4 = stablehlo.tanh %3 : tensor<4x6xbf16>
    return %4 : tensor<4x6xbf16>
  }
}
