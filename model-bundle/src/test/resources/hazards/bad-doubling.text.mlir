module {
  func.func private @f0(%arg0: tensor<4xf32>) -> tensor<4xf32> {
    %0 = stablehlo.sine %arg0 : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
  func.func private @f1(%arg0: tensor<4xf32>) -> tensor<4xf32> {
    %0 = call @f0(%arg0) : (tensor<4xf32>) -> tensor<4xf32>
    %1 = call @f0(%0) : (tensor<4xf32>) -> tensor<4xf32>
    return %1 : tensor<4xf32>
  }
  func.func private @f2(%arg0: tensor<4xf32>) -> tensor<4xf32> {
    %0 = call @f1(%arg0) : (tensor<4xf32>) -> tensor<4xf32>
    %1 = call @f1(%0) : (tensor<4xf32>) -> tensor<4xf32>
    return %1 : tensor<4xf32>
  }
  func.func private @f3(%arg0: tensor<4xf32>) -> tensor<4xf32> {
    %0 = call @f2(%arg0) : (tensor<4xf32>) -> tensor<4xf32>
    %1 = call @f2(%0) : (tensor<4xf32>) -> tensor<4xf32>
    return %1 : tensor<4xf32>
  }
  func.func private @f4(%arg0: tensor<4xf32>) -> tensor<4xf32> {
    %0 = call @f3(%arg0) : (tensor<4xf32>) -> tensor<4xf32>
    %1 = call @f3(%0) : (tensor<4xf32>) -> tensor<4xf32>
    return %1 : tensor<4xf32>
  }
  func.func private @f5(%arg0: tensor<4xf32>) -> tensor<4xf32> {
    %0 = call @f4(%arg0) : (tensor<4xf32>) -> tensor<4xf32>
    %1 = call @f4(%0) : (tensor<4xf32>) -> tensor<4xf32>
    return %1 : tensor<4xf32>
  }
  func.func private @f6(%arg0: tensor<4xf32>) -> tensor<4xf32> {
    %0 = call @f5(%arg0) : (tensor<4xf32>) -> tensor<4xf32>
    %1 = call @f5(%0) : (tensor<4xf32>) -> tensor<4xf32>
    return %1 : tensor<4xf32>
  }
  func.func private @f7(%arg0: tensor<4xf32>) -> tensor<4xf32> {
    %0 = call @f6(%arg0) : (tensor<4xf32>) -> tensor<4xf32>
    %1 = call @f6(%0) : (tensor<4xf32>) -> tensor<4xf32>
    return %1 : tensor<4xf32>
  }
  func.func private @f8(%arg0: tensor<4xf32>) -> tensor<4xf32> {
    %0 = call @f7(%arg0) : (tensor<4xf32>) -> tensor<4xf32>
    %1 = call @f7(%0) : (tensor<4xf32>) -> tensor<4xf32>
    return %1 : tensor<4xf32>
  }
  func.func private @f9(%arg0: tensor<4xf32>) -> tensor<4xf32> {
    %0 = call @f8(%arg0) : (tensor<4xf32>) -> tensor<4xf32>
    %1 = call @f8(%0) : (tensor<4xf32>) -> tensor<4xf32>
    return %1 : tensor<4xf32>
  }
  func.func private @f10(%arg0: tensor<4xf32>) -> tensor<4xf32> {
    %0 = call @f9(%arg0) : (tensor<4xf32>) -> tensor<4xf32>
    %1 = call @f9(%0) : (tensor<4xf32>) -> tensor<4xf32>
    return %1 : tensor<4xf32>
  }
  func.func private @f11(%arg0: tensor<4xf32>) -> tensor<4xf32> {
    %0 = call @f10(%arg0) : (tensor<4xf32>) -> tensor<4xf32>
    %1 = call @f10(%0) : (tensor<4xf32>) -> tensor<4xf32>
    return %1 : tensor<4xf32>
  }
  func.func private @f12(%arg0: tensor<4xf32>) -> tensor<4xf32> {
    %0 = call @f11(%arg0) : (tensor<4xf32>) -> tensor<4xf32>
    %1 = call @f11(%0) : (tensor<4xf32>) -> tensor<4xf32>
    return %1 : tensor<4xf32>
  }
  func.func private @f13(%arg0: tensor<4xf32>) -> tensor<4xf32> {
    %0 = call @f12(%arg0) : (tensor<4xf32>) -> tensor<4xf32>
    %1 = call @f12(%0) : (tensor<4xf32>) -> tensor<4xf32>
    return %1 : tensor<4xf32>
  }
  func.func private @f14(%arg0: tensor<4xf32>) -> tensor<4xf32> {
    %0 = call @f13(%arg0) : (tensor<4xf32>) -> tensor<4xf32>
    %1 = call @f13(%0) : (tensor<4xf32>) -> tensor<4xf32>
    return %1 : tensor<4xf32>
  }
  func.func private @f15(%arg0: tensor<4xf32>) -> tensor<4xf32> {
    %0 = call @f14(%arg0) : (tensor<4xf32>) -> tensor<4xf32>
    %1 = call @f14(%0) : (tensor<4xf32>) -> tensor<4xf32>
    return %1 : tensor<4xf32>
  }
  func.func private @f16(%arg0: tensor<4xf32>) -> tensor<4xf32> {
    %0 = call @f15(%arg0) : (tensor<4xf32>) -> tensor<4xf32>
    %1 = call @f15(%0) : (tensor<4xf32>) -> tensor<4xf32>
    return %1 : tensor<4xf32>
  }
  func.func private @f17(%arg0: tensor<4xf32>) -> tensor<4xf32> {
    %0 = call @f16(%arg0) : (tensor<4xf32>) -> tensor<4xf32>
    %1 = call @f16(%0) : (tensor<4xf32>) -> tensor<4xf32>
    return %1 : tensor<4xf32>
  }
  func.func private @f18(%arg0: tensor<4xf32>) -> tensor<4xf32> {
    %0 = call @f17(%arg0) : (tensor<4xf32>) -> tensor<4xf32>
    %1 = call @f17(%0) : (tensor<4xf32>) -> tensor<4xf32>
    return %1 : tensor<4xf32>
  }
  func.func private @f19(%arg0: tensor<4xf32>) -> tensor<4xf32> {
    %0 = call @f18(%arg0) : (tensor<4xf32>) -> tensor<4xf32>
    %1 = call @f18(%0) : (tensor<4xf32>) -> tensor<4xf32>
    return %1 : tensor<4xf32>
  }
  func.func private @f20(%arg0: tensor<4xf32>) -> tensor<4xf32> {
    %0 = call @f19(%arg0) : (tensor<4xf32>) -> tensor<4xf32>
    %1 = call @f19(%0) : (tensor<4xf32>) -> tensor<4xf32>
    return %1 : tensor<4xf32>
  }
  func.func private @f21(%arg0: tensor<4xf32>) -> tensor<4xf32> {
    %0 = call @f20(%arg0) : (tensor<4xf32>) -> tensor<4xf32>
    %1 = call @f20(%0) : (tensor<4xf32>) -> tensor<4xf32>
    return %1 : tensor<4xf32>
  }
  func.func private @f22(%arg0: tensor<4xf32>) -> tensor<4xf32> {
    %0 = call @f21(%arg0) : (tensor<4xf32>) -> tensor<4xf32>
    %1 = call @f21(%0) : (tensor<4xf32>) -> tensor<4xf32>
    return %1 : tensor<4xf32>
  }
  func.func private @f23(%arg0: tensor<4xf32>) -> tensor<4xf32> {
    %0 = call @f22(%arg0) : (tensor<4xf32>) -> tensor<4xf32>
    %1 = call @f22(%0) : (tensor<4xf32>) -> tensor<4xf32>
    return %1 : tensor<4xf32>
  }
  func.func private @f24(%arg0: tensor<4xf32>) -> tensor<4xf32> {
    %0 = call @f23(%arg0) : (tensor<4xf32>) -> tensor<4xf32>
    %1 = call @f23(%0) : (tensor<4xf32>) -> tensor<4xf32>
    return %1 : tensor<4xf32>
  }
  func.func private @f25(%arg0: tensor<4xf32>) -> tensor<4xf32> {
    %0 = call @f24(%arg0) : (tensor<4xf32>) -> tensor<4xf32>
    %1 = call @f24(%0) : (tensor<4xf32>) -> tensor<4xf32>
    return %1 : tensor<4xf32>
  }
  func.func private @f26(%arg0: tensor<4xf32>) -> tensor<4xf32> {
    %0 = call @f25(%arg0) : (tensor<4xf32>) -> tensor<4xf32>
    %1 = call @f25(%0) : (tensor<4xf32>) -> tensor<4xf32>
    return %1 : tensor<4xf32>
  }
  func.func private @f27(%arg0: tensor<4xf32>) -> tensor<4xf32> {
    %0 = call @f26(%arg0) : (tensor<4xf32>) -> tensor<4xf32>
    %1 = call @f26(%0) : (tensor<4xf32>) -> tensor<4xf32>
    return %1 : tensor<4xf32>
  }
  func.func private @f28(%arg0: tensor<4xf32>) -> tensor<4xf32> {
    %0 = call @f27(%arg0) : (tensor<4xf32>) -> tensor<4xf32>
    %1 = call @f27(%0) : (tensor<4xf32>) -> tensor<4xf32>
    return %1 : tensor<4xf32>
  }
  func.func public @main(%arg0: tensor<4xf32>) -> tensor<4xf32> {
    %0 = call @f28(%arg0) : (tensor<4xf32>) -> tensor<4xf32>
    %1 = call @f28(%0) : (tensor<4xf32>) -> tensor<4xf32>
    return %1 : tensor<4xf32>
  }
}
