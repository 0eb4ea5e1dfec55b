package dev.roundhouse.worker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import com.google.protobuf.ByteString;
import dev.roundhouse.engine.Engine;
import dev.roundhouse.engine.testing.TestBundle;
import dev.roundhouse.kserve.proto.ModelInferRequest;
import dev.roundhouse.kserve.proto.ModelInferRequest.InferInputTensor;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Large messages count against the memory for requests while they arrive. */
@Timeout(60)
class ReceivedMemoryTest {
  /** Floats of a row: a MiB. */
  private static final int ROW = 1 << 18;

  @TempDir Path repository;

  @Test
  void shouldCountALargeMessageOnce() throws Exception {
    try (RunningWorker worker = worker("2900KB")) {
      // A MiB of input and one of the answer: with the message beside them it would be too much;
      // while it grows it takes twice its size, of the three quarters that an address may have.
      assertThat(worker.stub().modelInfer(request(1)).getRawOutputContents(0).size())
          .isEqualTo(ROW * Float.BYTES);
      awaitNothingHeld(worker);
    }
  }

  @Test
  void shouldRefuseAMessageThatThereIsNoMemoryFor() throws Exception {
    try (RunningWorker worker = worker("3500KB")) {
      Status status =
          catchThrowableOfType(
                  StatusRuntimeException.class, () -> worker.stub().modelInfer(request(4)))
              .getStatus();
      assertThat(status.getCode()).isEqualTo(Status.Code.RESOURCE_EXHAUSTED);
      assertThat(status.getDescription())
          .startsWith("the connection holds 1048576 bytes, this one needs")
          .endsWith("raise roundhouse.worker.scheduler.max-queued-bytes");
      awaitNothingHeld(worker);
      assertThat(worker.stub().modelInfer(request(1)).getOutputsCount()).isOne();
    }
  }

  private RunningWorker worker(String budget) throws Exception {
    TestBundle.doubling(ROW, 1, 4).write(repository, "row");
    return new RunningWorker(
            repository,
            TestBundle.DOUBLE,
            "--roundhouse.worker.scheduler.max-queued-bytes=" + budget)
        .awaitLoaded();
  }

  private static void awaitNothingHeld(RunningWorker worker) {
    Engine engine = worker.bean(Engine.class);
    while (engine.heldBytes() > 0) {
      Thread.onSpinWait();
      assertThat(Thread.currentThread().isInterrupted()).isFalse();
    }
  }

  private static ModelInferRequest request(int rows) {
    return ModelInferRequest.newBuilder()
        .setModelName("row")
        .addInputs(
            InferInputTensor.newBuilder()
                .setName("x")
                .setDatatype("FP32")
                .addShape(rows)
                .addShape(ROW))
        .addRawInputContents(ByteString.copyFrom(new byte[rows * ROW * Float.BYTES]))
        .build();
  }
}
