module @jit__lambda attributes {jax.uses_shape_polymorphism = false, mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<4x100xi32>) -> (tensor<10xi32> {jax.result_info = "result"}) {
    %c = stablehlo.constant dense<400> : tensor<i32>
    %c_0 = stablehlo.constant dense<1> : tensor<i32>
    %c_1 = stablehlo.constant dense<10> : tensor<i32>
    %c_2 = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.reshape %arg0 : (tensor<4x100xi32>) -> tensor<400xi32>
    %1:3 = call @_unique_sorted_mask(%0) : (tensor<400xi32>) -> (tensor<400xi32>, tensor<400xi1>, tensor<400xi32>)
    %2 = call @cumsum(%1#1) : (tensor<400xi1>) -> tensor<400xi32>
    %3 = stablehlo.broadcast_in_dim %c_2, dims = [] : (tensor<i32>) -> tensor<10xi32>
    %4 = call @clip(%2, %c_2) : (tensor<400xi32>, tensor<i32>) -> tensor<400xi32>
    %5 = stablehlo.broadcast_in_dim %c_2, dims = [] : (tensor<i32>) -> tensor<400xi32>
    %6 = stablehlo.compare LT, %4, %5, SIGNED : (tensor<400xi32>, tensor<400xi32>) -> tensor<400xi1>
    %7 = stablehlo.broadcast_in_dim %c_1, dims = [] : (tensor<i32>) -> tensor<400xi32>
    %8 = stablehlo.add %4, %7 : tensor<400xi32>
    %9 = stablehlo.select %6, %8, %4 : tensor<400xi1>, tensor<400xi32>
    %10 = stablehlo.broadcast_in_dim %9, dims = [0] : (tensor<400xi32>) -> tensor<400x1xi32>
    %11 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i32>) -> tensor<400xi32>
    %12 = "stablehlo.scatter"(%3, %10, %11) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
    ^bb0(%arg1: tensor<i32>, %arg2: tensor<i32>):
      %23 = stablehlo.add %arg1, %arg2 : tensor<i32>
      stablehlo.return %23 : tensor<i32>
    }) : (tensor<10xi32>, tensor<400x1xi32>, tensor<400xi32>) -> tensor<10xi32>
    %13 = call @cumsum_1(%12) : (tensor<10xi32>) -> tensor<10xi32>
    %14 = call @floor_divide(%13, %c_0) : (tensor<10xi32>, tensor<i32>) -> tensor<10xi32>
    %15 = call @remainder(%14, %c) : (tensor<10xi32>, tensor<i32>) -> tensor<10xi32>
    %16 = stablehlo.broadcast_in_dim %c_2, dims = [] : (tensor<i32>) -> tensor<10xi32>
    %17 = stablehlo.compare LT, %15, %16, SIGNED : (tensor<10xi32>, tensor<10xi32>) -> tensor<10xi1>
    %18 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<10xi32>
    %19 = stablehlo.add %15, %18 : tensor<10xi32>
    %20 = stablehlo.select %17, %19, %15 : tensor<10xi1>, tensor<10xi32>
    %21 = stablehlo.broadcast_in_dim %20, dims = [0] : (tensor<10xi32>) -> tensor<10x1xi32>
    %22 = "stablehlo.gather"(%1#0, %21) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1>}> : (tensor<400xi32>, tensor<10x1xi32>) -> tensor<10xi32>
    return %22 : tensor<10xi32>
  }
  func.func private @_unique_sorted_mask(%arg0: tensor<400xi32>) -> (tensor<400xi32>, tensor<400xi1>, tensor<400xi32>) {
    %c = stablehlo.constant dense<1> : tensor<i32>
    %c_0 = stablehlo.constant dense<false> : tensor<i1>
    %c_1 = stablehlo.constant dense<true> : tensor<i1>
    %c_2 = stablehlo.constant dense<400> : tensor<i32>
    %c_3 = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.reshape %arg0 : (tensor<400xi32>) -> tensor<400x1xi32>
    %1 = stablehlo.transpose %0, dims = [1, 0] : (tensor<400x1xi32>) -> tensor<1x400xi32>
    %2 = stablehlo.reverse %1, dims = [0] : tensor<1x400xi32>
    %3 = call @lexsort(%2) : (tensor<1x400xi32>) -> tensor<400xi32>
    %4 = stablehlo.broadcast_in_dim %c_3, dims = [] : (tensor<i32>) -> tensor<400xi32>
    %5 = stablehlo.compare LT, %3, %4, SIGNED : (tensor<400xi32>, tensor<400xi32>) -> tensor<400xi1>
    %6 = stablehlo.broadcast_in_dim %c_2, dims = [] : (tensor<i32>) -> tensor<400xi32>
    %7 = stablehlo.add %3, %6 : tensor<400xi32>
    %8 = stablehlo.select %5, %7, %3 : tensor<400xi1>, tensor<400xi32>
    %9 = stablehlo.broadcast_in_dim %8, dims = [0] : (tensor<400xi32>) -> tensor<400x1xi32>
    %10 = "stablehlo.gather"(%arg0, %9) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1>}> : (tensor<400xi32>, tensor<400x1xi32>) -> tensor<400xi32>
    %11 = stablehlo.broadcast_in_dim %c_1, dims = [] : (tensor<i1>) -> tensor<400xi1>
    %12 = stablehlo.slice %10 [1:400] : (tensor<400xi32>) -> tensor<399xi32>
    %13 = stablehlo.slice %10 [0:399] : (tensor<400xi32>) -> tensor<399xi32>
    %14 = stablehlo.compare NE, %12, %13, SIGNED : (tensor<399xi32>, tensor<399xi32>) -> tensor<399xi1>
    %15 = stablehlo.reduce(%14 init: %c_0) applies stablehlo.or across dimensions = [] : (tensor<399xi1>, tensor<i1>) -> tensor<399xi1>
    %16 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<1xi32>
    %17 = "stablehlo.scatter"(%11, %16, %15) <{indices_are_sorted = true, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0], scatter_dims_to_operand_dims = [0]>, unique_indices = true}> ({
    ^bb0(%arg1: tensor<i1>, %arg2: tensor<i1>):
      stablehlo.return %arg2 : tensor<i1>
    }) : (tensor<400xi1>, tensor<1xi32>, tensor<399xi1>) -> tensor<400xi1>
    return %10, %17, %3 : tensor<400xi32>, tensor<400xi1>, tensor<400xi32>
  }
  func.func private @lexsort(%arg0: tensor<1x400xi32>) -> tensor<400xi32> {
    %0 = stablehlo.slice %arg0 [0:1, 0:400] : (tensor<1x400xi32>) -> tensor<1x400xi32>
    %1 = stablehlo.reshape %0 : (tensor<1x400xi32>) -> tensor<400xi32>
    %2 = stablehlo.iota dim = 0 : tensor<400xi32>
    %3:2 = "stablehlo.sort"(%1, %2) <{dimension = 0 : i64, is_stable = true}> ({
    ^bb0(%arg1: tensor<i32>, %arg2: tensor<i32>, %arg3: tensor<i32>, %arg4: tensor<i32>):
      %4 = stablehlo.compare LT, %arg1, %arg2, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %4 : tensor<i1>
    }) : (tensor<400xi32>, tensor<400xi32>) -> (tensor<400xi32>, tensor<400xi32>)
    return %3#1 : tensor<400xi32>
  }
  func.func private @cumsum(%arg0: tensor<400xi1>) -> tensor<400xi32> {
    %0 = stablehlo.convert %arg0 : (tensor<400xi1>) -> tensor<400xi32>
    %1 = call @cumsum_0(%0) : (tensor<400xi32>) -> tensor<400xi32>
    return %1 : tensor<400xi32>
  }
  func.func private @cumsum_0(%arg0: tensor<400xi32>) -> tensor<400xi32> {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<i32>
    %1 = "stablehlo.reduce_window"(%arg0, %0) <{padding = dense<[[399, 0]]> : tensor<1x2xi64>, window_dimensions = array<i64: 400>}> ({
    ^bb0(%arg1: tensor<i32>, %arg2: tensor<i32>):
      %2 = stablehlo.add %arg1, %arg2 : tensor<i32>
      stablehlo.return %2 : tensor<i32>
    }) : (tensor<400xi32>, tensor<i32>) -> tensor<400xi32>
    return %1 : tensor<400xi32>
  }
  func.func private @clip(%arg0: tensor<400xi32>, %arg1: tensor<i32>) -> tensor<400xi32> {
    %0 = stablehlo.convert %arg1 : tensor<i32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<i32>) -> tensor<400xi32>
    %2 = stablehlo.maximum %1, %arg0 : tensor<400xi32>
    return %2 : tensor<400xi32>
  }
  func.func private @cumsum_1(%arg0: tensor<10xi32>) -> tensor<10xi32> {
    %0 = call @cumsum_2(%arg0) : (tensor<10xi32>) -> tensor<10xi32>
    return %0 : tensor<10xi32>
  }
  func.func private @cumsum_2(%arg0: tensor<10xi32>) -> tensor<10xi32> {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<i32>
    %1 = "stablehlo.reduce_window"(%arg0, %0) <{padding = dense<[[9, 0]]> : tensor<1x2xi64>, window_dimensions = array<i64: 10>}> ({
    ^bb0(%arg1: tensor<i32>, %arg2: tensor<i32>):
      %2 = stablehlo.add %arg1, %arg2 : tensor<i32>
      stablehlo.return %2 : tensor<i32>
    }) : (tensor<10xi32>, tensor<i32>) -> tensor<10xi32>
    return %1 : tensor<10xi32>
  }
  func.func private @floor_divide(%arg0: tensor<10xi32>, %arg1: tensor<i32>) -> tensor<10xi32> {
    %c = stablehlo.constant dense<1> : tensor<i32>
    %c_0 = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.broadcast_in_dim %arg1, dims = [] : (tensor<i32>) -> tensor<10xi32>
    %1 = stablehlo.divide %arg0, %0 : tensor<10xi32>
    %2 = stablehlo.sign %arg0 : tensor<10xi32>
    %3 = stablehlo.sign %arg1 : tensor<i32>
    %4 = stablehlo.broadcast_in_dim %3, dims = [] : (tensor<i32>) -> tensor<10xi32>
    %5 = stablehlo.compare NE, %2, %4, SIGNED : (tensor<10xi32>, tensor<10xi32>) -> tensor<10xi1>
    %6 = stablehlo.broadcast_in_dim %arg1, dims = [] : (tensor<i32>) -> tensor<10xi32>
    %7 = stablehlo.remainder %arg0, %6 : tensor<10xi32>
    %8 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i32>) -> tensor<10xi32>
    %9 = stablehlo.compare NE, %7, %8, SIGNED : (tensor<10xi32>, tensor<10xi32>) -> tensor<10xi1>
    %10 = stablehlo.and %5, %9 : tensor<10xi1>
    %11 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<10xi32>
    %12 = stablehlo.subtract %1, %11 : tensor<10xi32>
    %13 = call @_where(%10, %12, %1) : (tensor<10xi1>, tensor<10xi32>, tensor<10xi32>) -> tensor<10xi32>
    return %13 : tensor<10xi32>
  }
  func.func private @_where(%arg0: tensor<10xi1>, %arg1: tensor<10xi32>, %arg2: tensor<10xi32>) -> tensor<10xi32> {
    %0 = stablehlo.select %arg0, %arg1, %arg2 : tensor<10xi1>, tensor<10xi32>
    return %0 : tensor<10xi32>
  }
  func.func private @remainder(%arg0: tensor<10xi32>, %arg1: tensor<i32>) -> tensor<10xi32> {
    %c = stablehlo.constant dense<1> : tensor<i32>
    %c_0 = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.convert %arg1 : tensor<i32>
    %1 = stablehlo.compare EQ, %0, %c_0, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %2 = call @_where_3(%1, %c, %0) : (tensor<i1>, tensor<i32>, tensor<i32>) -> tensor<i32>
    %3 = stablehlo.broadcast_in_dim %2, dims = [] : (tensor<i32>) -> tensor<10xi32>
    %4 = stablehlo.remainder %arg0, %3 : tensor<10xi32>
    %5 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i32>) -> tensor<10xi32>
    %6 = stablehlo.compare NE, %4, %5, SIGNED : (tensor<10xi32>, tensor<10xi32>) -> tensor<10xi1>
    %7 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i32>) -> tensor<10xi32>
    %8 = stablehlo.compare LT, %4, %7, SIGNED : (tensor<10xi32>, tensor<10xi32>) -> tensor<10xi1>
    %9 = stablehlo.compare LT, %2, %c_0, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %10 = stablehlo.broadcast_in_dim %9, dims = [] : (tensor<i1>) -> tensor<10xi1>
    %11 = stablehlo.compare NE, %8, %10, UNSIGNED : (tensor<10xi1>, tensor<10xi1>) -> tensor<10xi1>
    %12 = stablehlo.and %11, %6 : tensor<10xi1>
    %13 = stablehlo.broadcast_in_dim %2, dims = [] : (tensor<i32>) -> tensor<10xi32>
    %14 = stablehlo.add %4, %13 : tensor<10xi32>
    %15 = stablehlo.select %12, %14, %4 : tensor<10xi1>, tensor<10xi32>
    return %15 : tensor<10xi32>
  }
  func.func private @_where_3(%arg0: tensor<i1>, %arg1: tensor<i32>, %arg2: tensor<i32>) -> tensor<i32> {
    %0 = stablehlo.select %arg0, %arg1, %arg2 : tensor<i1>, tensor<i32>
    return %0 : tensor<i32>
  }
}
