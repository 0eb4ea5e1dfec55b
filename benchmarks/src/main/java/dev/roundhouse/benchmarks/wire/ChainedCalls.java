package dev.roundhouse.benchmarks.wire;

import com.google.protobuf.ByteString;
import dev.roundhouse.benchmarks.bench.Bench;
import dev.roundhouse.benchmarks.bench.BenchRun;
import dev.roundhouse.benchmarks.bundle.BundleDraft;
import dev.roundhouse.benchmarks.bundle.ComposedDraft;
import dev.roundhouse.benchmarks.client.GrpcUnary;
import dev.roundhouse.benchmarks.report.Cell;
import dev.roundhouse.benchmarks.report.Goal;
import dev.roundhouse.benchmarks.serving.ServerProcess;
import dev.roundhouse.benchmarks.serving.WorkerServer;
import dev.roundhouse.kserve.proto.ModelInferRequest;
import dev.roundhouse.kserve.proto.ModelInferRequest.InferInputTensor;
import dev.roundhouse.measure.Pairs;
import dev.roundhouse.measure.Scratch;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Collections;
import java.util.List;
import java.util.Map;

/**
 * Two models, one after the other: by an ensemble in one call, and by a client that takes what the
 * first answers to the second. The first makes a feature map of a few numbers, the second a few
 * numbers of that.
 */
public final class ChainedCalls implements Bench {
  private static final int FEW = 4;
  private static final List<Integer> MAPS = List.of(1024, 147_456);

  @Override
  public String name() {
    return "glue-client";
  }

  @Override
  public String about() {
    return "two models by an ensemble, against a client that calls both: p50";
  }

  @Override
  public void run(BenchRun run) throws Exception {
    for (int elements : MAPS) {
      try (Scratch scratch = Scratch.create()) {
        Path repository = Files.createDirectory(scratch.path().resolve("models"));
        model(
                "widen",
                FEW,
                elements,
                "stablehlo.broadcast_in_dim %one, dims = [0, 1] : (tensor<1x1xf32>) -> OUT")
            .write(repository.resolve("widen"));
        model("narrow", elements, FEW, "stablehlo.slice %x [0:1, 0:4] : (IN) -> OUT")
            .write(repository.resolve("narrow"));
        ComposedDraft.chain(FEW, FEW, List.of("widen", "narrow")).write(repository.resolve("both"));
        try (ServerProcess worker = WorkerServer.start("worker", run, scratch.path(), repository)) {
          measure(run, worker, elements);
        }
      }
    }
  }

  private static BundleDraft model(String name, int in, int out, String makes) {
    String code =
        """
        module @NAME {
          func.func public @main(%x: IN) -> OUT {
            %one = stablehlo.slice %x [0:1, 0:1] : (IN) -> tensor<1x1xf32>
            %y = MAKES
            return %y : OUT
          }
        }
        """
            .replace("MAKES", makes)
            .replace("NAME", name)
            .replace("IN", "tensor<1x%dxf32>".formatted(in))
            .replace("OUT", "tensor<1x%dxf32>".formatted(out));
    return new BundleDraft(
        name + ", for benchmarks",
        List.of("{name: x, dtype: f32, shape: [n, %d]}".formatted(in)),
        List.of("{name: y, dtype: f32, shape: [n, %d]}".formatted(out)),
        Map.of(1, code),
        List.of());
  }

  private void measure(BenchRun run, ServerProcess worker, int elements) throws IOException {
    ByteString few = sevens(FEW);
    ByteString many = sevens(elements);
    int port = worker.grpcPort();
    try (GrpcUnary both = GrpcUnary.connect(port, request("both", FEW, few), few);
        GrpcUnary first = GrpcUnary.connect(port, request("widen", FEW, few), many);
        GrpcUnary second = GrpcUnary.connect(port, request("narrow", elements, many), few)) {
      run.say("%s: warming up, %d KiB between", name(), elements * Float.BYTES / 1024);
      Duration warmUp = Duration.ofSeconds(run.quick() ? 2 : 8);
      for (GrpcUnary each : List.of(both, first, second)) {
        each.run(1, warmUp);
      }
      Duration sample = Duration.ofMillis(run.quick() ? 300 : 1000);
      Pairs pairs = new Pairs();
      for (int round = 0; round < (run.quick() ? 5 : 11); round++) {
        double one = both.run(1, sample).p50Micros();
        double two = first.run(1, sample).p50Micros() + second.run(1, sample).p50Micros();
        pairs.add(one, two);
      }
      run.cells()
          .accept(
              new Cell(
                  name(),
                  "%d KiB between the steps: p50, vs two calls of a client"
                      .formatted(elements * Float.BYTES / 1024),
                  pairs.compare(),
                  "us",
                  Goal.atMost(0.4)));
    }
  }

  private static ByteString sevens(int count) {
    ByteBuffer values = ByteBuffer.allocate(count * Float.BYTES).order(ByteOrder.LITTLE_ENDIAN);
    Collections.nCopies(count, 7f).forEach(values::putFloat);
    return ByteString.copyFrom(values.flip());
  }

  private static ModelInferRequest request(String model, int elements, ByteString data) {
    return ModelInferRequest.newBuilder()
        .setModelName(model)
        .addInputs(
            InferInputTensor.newBuilder()
                .setName("x")
                .setDatatype("FP32")
                .addShape(1)
                .addShape(elements))
        .addRawInputContents(data)
        .build();
  }
}
