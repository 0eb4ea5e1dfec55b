package dev.roundhouse.devicecheck.step;

import com.google.protobuf.UnsafeByteOperations;
import dev.roundhouse.bundle.tensor.DType;
import dev.roundhouse.bundle.tensor.Shape;
import dev.roundhouse.devicecheck.CheckContext;
import dev.roundhouse.devicecheck.Findings;
import dev.roundhouse.devicecheck.Step;
import dev.roundhouse.engine.embedded.Tensor;
import dev.roundhouse.kserve.proto.ModelInferRequest;
import dev.roundhouse.kserve.proto.ModelInferRequest.InferInputTensor;
import dev.roundhouse.kserve.proto.ModelInferResponse;
import io.grpc.StatusRuntimeException;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;

/** A worker as it is deployed, called over gRPC and stopped by SIGTERM. */
public final class WorkerProcess implements Step {
  private static final Duration STOP = Duration.ofSeconds(20);

  /** What a JVM that ends in good order on SIGTERM leaves. */
  private static final int TERMINATED = 128 + 15;

  @Override
  public String name() {
    return "worker";
  }

  @Override
  public String about() {
    return "a worker process: start, every sample over gRPC, stop";
  }

  @Override
  public Duration limit() {
    return Duration.ofSeconds(75);
  }

  @Override
  public void run(CheckContext context, Findings findings) throws Exception {
    long start = System.nanoTime();
    try (StartedWorker worker = StartedWorker.start(context)) {
      double seconds = (System.nanoTime() - start) / 1e9;
      findings.figure("from start to ready", seconds, "s", worker.ready());
      findings.check("every model is ready", worker.ready().contains("failed=0"), worker.ready());
      call(worker, context, findings);
      stop(worker.process(), findings);
    }
  }

  private static void call(StartedWorker worker, CheckContext context, Findings findings)
      throws IOException {
    for (SampleCase sample : SampleCase.readAll(context.expected())) {
      try {
        ModelInferResponse answer = worker.stub().modelInfer(request(sample));
        Difference difference = sample.compare(tensors(answer), context.platform());
        findings.check(sample.what(), difference.isRight(), difference.toString());
      } catch (StatusRuntimeException refused) {
        findings.fail(sample.what(), String.valueOf(refused.getMessage()));
      }
    }
  }

  private static ModelInferRequest request(SampleCase sample) {
    ModelInferRequest.Builder request = ModelInferRequest.newBuilder().setModelName(sample.model());
    for (SampleCase.Named input : sample.inputs()) {
      InferInputTensor.Builder tensor =
          InferInputTensor.newBuilder()
              .setName(input.name())
              .setDatatype(input.type().kserveName().orElseThrow());
      for (long extent : input.shape()) {
        tensor.addShape(extent);
      }
      request.addInputs(tensor);
      request.addRawInputContents(UnsafeByteOperations.unsafeWrap(input.data()));
    }
    return request.build();
  }

  private static Map<String, Tensor> tensors(ModelInferResponse answer) {
    Map<String, Tensor> tensors = new LinkedHashMap<>();
    for (int i = 0; i < answer.getOutputsCount(); i++) {
      ModelInferResponse.InferOutputTensor output = answer.getOutputs(i);
      long[] shape = output.getShapeList().stream().mapToLong(Long::longValue).toArray();
      tensors.put(
          output.getName(),
          new Tensor(
              DType.fromKserveName(output.getDatatype()).orElseThrow(),
              Shape.of(shape),
              MemorySegment.ofArray(answer.getRawOutputContents(i).toByteArray())));
    }
    return tensors;
  }

  private static void stop(Process worker, Findings findings) throws InterruptedException {
    long start = System.nanoTime();
    worker.destroy();
    if (!worker.waitFor(STOP)) {
      findings.fail("stop by SIGTERM", "still there after " + STOP.toSeconds() + " s");
      return;
    }
    findings.check(
        "stop by SIGTERM",
        worker.exitValue() == 0 || worker.exitValue() == TERMINATED,
        "exit code %d after %.1f s"
            .formatted(worker.exitValue(), (System.nanoTime() - start) / 1e9));
  }
}
