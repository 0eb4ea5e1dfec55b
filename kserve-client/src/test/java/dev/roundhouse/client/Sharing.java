package dev.roundhouse.client;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.client.retry.RetryPolicy;
import dev.roundhouse.client.tensor.Tensor;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Timeout;

/** A server that shares memory with the clients of a test, none of which is left after it. */
@Timeout(60)
abstract class Sharing {
  /** Rows of the model {@code pair} that make 32 KiB. */
  static final int ROWS = 4096;

  static final SharedMemory AUTO =
      SharedMemory.AUTO.withRegion(8 << 16, 8).withLeastBytes(16 << 10).withName("test");
  static final SharedMemory ON = AUTO.withMode(SharedMemory.Mode.ON);

  final SharingServer server = new SharingServer();

  Sharing() throws IOException {}

  @AfterEach
  void shouldLeaveNoMemoryBehind() throws IOException {
    server.close();
    for (String key : server.keys) {
      assertThat(Path.of("/dev/shm" + key)).as("left behind").doesNotExist();
    }
  }

  final KServeClient client(SharedMemory memory) {
    return KServeClient.to(server.address())
        .deadline(Duration.ofSeconds(30))
        .retry(RetryPolicy.NONE)
        .sharedMemory(memory)
        .build();
  }

  /** Counts up from a value in rows of two; the model doubles them. */
  static InferRequest.Builder pairs(int first, int rows) {
    float[] values = new float[2 * rows];
    for (int i = 0; i < values.length; i++) {
      values[i] = first + i;
    }
    return InferRequest.to("pair").input("x", Tensor.of(values, rows, 2));
  }

  static void assertDoubled(InferResult result, int first, int rows) {
    float[] values = result.output("y").floats();
    assertThat(values).hasSize(2 * rows);
    for (int i = 0; i < values.length; i++) {
      assertThat(values[i]).isEqualTo(2f * (first + i));
    }
  }
}
