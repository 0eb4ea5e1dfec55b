module @jit_dtypes attributes {jax.uses_shape_polymorphism = false, mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<1x3xf64>, %arg1: tensor<1x3xf32>, %arg2: tensor<1x3xf16>, %arg3: tensor<1x3xbf16>, %arg4: tensor<1x3xi64>, %arg5: tensor<1x3xi32>, %arg6: tensor<1x3xi16>, %arg7: tensor<1x3xi8>, %arg8: tensor<1x3xui64>, %arg9: tensor<1x3xui32>, %arg10: tensor<1x3xui16>, %arg11: tensor<1x3xui8>, %arg12: tensor<1x3xi1>) -> (tensor<1x3xf64> {jax.result_info = "result[0]"}, tensor<1x3xf32> {jax.result_info = "result[1]"}, tensor<1x3xf16> {jax.result_info = "result[2]"}, tensor<1x3xbf16> {jax.result_info = "result[3]"}, tensor<1x3xi64> {jax.result_info = "result[4]"}, tensor<1x3xi32> {jax.result_info = "result[5]"}, tensor<1x3xi16> {jax.result_info = "result[6]"}, tensor<1x3xi8> {jax.result_info = "result[7]"}, tensor<1x3xui64> {jax.result_info = "result[8]"}, tensor<1x3xui32> {jax.result_info = "result[9]"}, tensor<1x3xui16> {jax.result_info = "result[10]"}, tensor<1x3xui8> {jax.result_info = "result[11]"}, tensor<1x3xi1> {jax.result_info = "result[12]"}) {
    %c = stablehlo.constant dense<1> : tensor<ui8>
    %c_0 = stablehlo.constant dense<1> : tensor<ui16>
    %c_1 = stablehlo.constant dense<1> : tensor<ui32>
    %c_2 = stablehlo.constant dense<1> : tensor<ui64>
    %c_3 = stablehlo.constant dense<1> : tensor<i8>
    %c_4 = stablehlo.constant dense<1> : tensor<i16>
    %c_5 = stablehlo.constant dense<1> : tensor<i32>
    %c_6 = stablehlo.constant dense<1> : tensor<i64>
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<bf16>
    %cst_7 = stablehlo.constant dense<1.000000e+00> : tensor<f16>
    %cst_8 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %cst_9 = stablehlo.constant dense<1.000000e+00> : tensor<f64>
    %0 = stablehlo.broadcast_in_dim %cst_9, dims = [] : (tensor<f64>) -> tensor<1x3xf64>
    %1 = stablehlo.add %arg0, %0 : tensor<1x3xf64>
    %2 = stablehlo.broadcast_in_dim %cst_8, dims = [] : (tensor<f32>) -> tensor<1x3xf32>
    %3 = stablehlo.add %arg1, %2 : tensor<1x3xf32>
    %4 = stablehlo.broadcast_in_dim %cst_7, dims = [] : (tensor<f16>) -> tensor<1x3xf16>
    %5 = stablehlo.add %arg2, %4 : tensor<1x3xf16>
    %6 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<bf16>) -> tensor<1x3xbf16>
    %7 = stablehlo.add %arg3, %6 : tensor<1x3xbf16>
    %8 = stablehlo.broadcast_in_dim %c_6, dims = [] : (tensor<i64>) -> tensor<1x3xi64>
    %9 = stablehlo.add %arg4, %8 : tensor<1x3xi64>
    %10 = stablehlo.broadcast_in_dim %c_5, dims = [] : (tensor<i32>) -> tensor<1x3xi32>
    %11 = stablehlo.add %arg5, %10 : tensor<1x3xi32>
    %12 = stablehlo.broadcast_in_dim %c_4, dims = [] : (tensor<i16>) -> tensor<1x3xi16>
    %13 = stablehlo.add %arg6, %12 : tensor<1x3xi16>
    %14 = stablehlo.broadcast_in_dim %c_3, dims = [] : (tensor<i8>) -> tensor<1x3xi8>
    %15 = stablehlo.add %arg7, %14 : tensor<1x3xi8>
    %16 = stablehlo.broadcast_in_dim %c_2, dims = [] : (tensor<ui64>) -> tensor<1x3xui64>
    %17 = stablehlo.add %arg8, %16 : tensor<1x3xui64>
    %18 = stablehlo.broadcast_in_dim %c_1, dims = [] : (tensor<ui32>) -> tensor<1x3xui32>
    %19 = stablehlo.add %arg9, %18 : tensor<1x3xui32>
    %20 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<ui16>) -> tensor<1x3xui16>
    %21 = stablehlo.add %arg10, %20 : tensor<1x3xui16>
    %22 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<ui8>) -> tensor<1x3xui8>
    %23 = stablehlo.add %arg11, %22 : tensor<1x3xui8>
    %24 = stablehlo.not %arg12 : tensor<1x3xi1>
    return %1, %3, %5, %7, %9, %11, %13, %15, %17, %19, %21, %23, %24 : tensor<1x3xf64>, tensor<1x3xf32>, tensor<1x3xf16>, tensor<1x3xbf16>, tensor<1x3xi64>, tensor<1x3xi32>, tensor<1x3xi16>, tensor<1x3xi8>, tensor<1x3xui64>, tensor<1x3xui32>, tensor<1x3xui16>, tensor<1x3xui8>, tensor<1x3xi1>
  }
}
