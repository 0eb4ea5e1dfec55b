package dev.roundhouse.benchmarks.serving;

import dev.roundhouse.kserve.proto.GRPCInferenceServiceGrpc.GRPCInferenceServiceImplBase;
import dev.roundhouse.kserve.proto.ModelInferRequest;
import dev.roundhouse.kserve.proto.ModelInferRequest.InferInputTensor;
import dev.roundhouse.kserve.proto.ModelInferResponse;
import dev.roundhouse.kserve.proto.ModelInferResponse.InferOutputTensor;
import io.grpc.stub.StreamObserver;

/** Answers a request with its own first tensor; the least a server of this protocol can do. */
final class EchoService extends GRPCInferenceServiceImplBase {

  @Override
  public void modelInfer(ModelInferRequest request, StreamObserver<ModelInferResponse> answers) {
    InferInputTensor input = request.getInputs(0);
    answers.onNext(
        ModelInferResponse.newBuilder()
            .setModelName(request.getModelName())
            .setModelVersion("1")
            .setId(request.getId())
            .addOutputs(
                InferOutputTensor.newBuilder()
                    .setName("y")
                    .setDatatype(input.getDatatype())
                    .addAllShape(input.getShapeList()))
            .addRawOutputContents(request.getRawInputContents(0))
            .build());
    answers.onCompleted();
  }
}
