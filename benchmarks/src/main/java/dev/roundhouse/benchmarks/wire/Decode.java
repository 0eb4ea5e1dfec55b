package dev.roundhouse.benchmarks.wire;

import com.google.protobuf.ByteString;
import dev.roundhouse.benchmarks.bench.Bench;
import dev.roundhouse.benchmarks.bench.BenchRun;
import dev.roundhouse.benchmarks.report.Cell;
import dev.roundhouse.benchmarks.report.Goal;
import dev.roundhouse.kserve.codec.RequestCheck;
import dev.roundhouse.kserve.codec.RequestParser;
import dev.roundhouse.kserve.codec.WireInput;
import dev.roundhouse.kserve.proto.ModelInferRequest;
import dev.roundhouse.kserve.proto.ModelInferRequest.InferInputTensor;
import dev.roundhouse.measure.Pairs;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Bytes to checked tensors, of requests as a stock client writes them, against protobuf's generated
 * parser, which checks nothing.
 */
final class Decode implements Bench {
  private static final int ROUNDS = 21;
  private static final int QUICK_ROUNDS = 7;
  private static final long SAMPLE_NANOS = TimeUnit.MILLISECONDS.toNanos(30);
  private static final int SMALL = 4 << 10;
  private static final int LARGE = 16 << 20;

  /** Keeps what is measured from being left out. */
  @SuppressWarnings("UnusedVariable")
  private static volatile int seen;

  @Override
  public String name() {
    return "wire-decode";
  }

  @Override
  public String about() {
    return "bytes of a ModelInfer request to checked tensors, against protobuf's parser";
  }

  @Override
  public void run(BenchRun run) throws IOException {
    int rounds = run.quick() ? QUICK_ROUNDS : ROUNDS;
    run.say("%s: %d rounds per cell", name(), rounds);
    for (int bytes : List.of(64, SMALL, 588 << 10, LARGE)) {
      ByteBuffer message = message(bytes);
      cell(
          run,
          rounds,
          "%s of raw contents, vs protobuf-java".formatted(size(bytes)),
          () -> ours(message),
          () -> protobuf(message),
          bytes >= SMALL ? Goal.atMost(0.05) : null);
    }
    ByteBuffer small = message(SMALL);
    ByteBuffer large = message(LARGE);
    cell(
        run,
        rounds,
        "%s vs %s, both ours".formatted(size(LARGE), size(SMALL)),
        () -> ours(large),
        () -> ours(small),
        Goal.atMost(1.2));
  }

  private void cell(
      BenchRun run, int rounds, String cell, Decoding ours, Decoding peer, @Nullable Goal goal)
      throws IOException {
    Pairs pairs = new Pairs();
    for (int round = -rounds; round < rounds; round++) {
      double our = nanos(ours);
      double other = nanos(peer);
      if (round >= 0) { // the others warm up
        pairs.add(our, other);
      }
    }
    run.cells().accept(new Cell(name(), cell, pairs.compare(), "ns/message", goal));
  }

  private static double nanos(Decoding decoding) throws IOException {
    long count = 0;
    long start = System.nanoTime();
    long now = start;
    while (now - start < SAMPLE_NANOS) {
      int sum = 0;
      for (int i = 0; i < 64; i++) {
        sum += decoding.decode();
      }
      seen = sum;
      count += 64;
      now = System.nanoTime();
    }
    return (double) (now - start) / count;
  }

  private static int ours(ByteBuffer message) throws IOException {
    WireInput input = RequestCheck.check(RequestParser.read(message)).inputs().getFirst();
    return ((WireInput.Inline) input.data()).bytes().remaining();
  }

  private static int protobuf(ByteBuffer message) throws IOException {
    return ModelInferRequest.parseFrom(message.duplicate()).getRawInputContents(0).size();
  }

  /** One input, one output asked for, an id; in memory outside the heap, as it is received. */
  private static ByteBuffer message(int bytes) {
    byte[] request =
        ModelInferRequest.newBuilder()
            .setModelName("identity_fp32")
            .setId("1234")
            .addInputs(
                InferInputTensor.newBuilder()
                    .setName("INPUT0")
                    .setDatatype("FP32")
                    .addShape(1)
                    .addShape(bytes / Float.BYTES))
            .addOutputs(
                ModelInferRequest.InferRequestedOutputTensor.newBuilder().setName("OUTPUT0"))
            .addRawInputContents(ByteString.copyFrom(new byte[bytes]))
            .build()
            .toByteArray();
    return ByteBuffer.allocateDirect(request.length).put(request).flip();
  }

  private static String size(int bytes) {
    if (bytes >= 1 << 20) {
      return (bytes >> 20) + " MiB";
    }
    return bytes >= 1 << 10 ? (bytes >> 10) + " KiB" : bytes + " B";
  }

  /** Decodes a message; returns something of it. */
  @FunctionalInterface
  private interface Decoding {
    int decode() throws IOException;
  }
}
