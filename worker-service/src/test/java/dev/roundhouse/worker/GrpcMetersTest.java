package dev.roundhouse.worker;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.engine.Engine;
import dev.roundhouse.engine.testing.TestBundle;
import dev.roundhouse.kserve.proto.GRPCInferenceServiceGrpc;
import dev.roundhouse.transport.memory.ConnectionMemory;
import dev.roundhouse.transport.memory.Kept;
import dev.roundhouse.transport.memory.PeerMemory;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.util.Objects;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What the metrics tell of the gRPC server's load. */
@Timeout(120)
class GrpcMetersTest {
  @TempDir Path repository;
  private final Gate gate = new Gate();

  @Test
  void shouldShowWhatIsOpenBesideWhatMayBe() throws Exception {
    TestBundle.doubling(2, 1).write(repository, "double");
    try (RunningWorker worker =
        new RunningWorker(
                repository,
                gate,
                "--roundhouse.worker.server.max-connections=17",
                "--roundhouse.worker.server.max-calls=19")
            .awaitLoaded()) {
      awaitMetrics(worker, "connections_open 0.0", "connections_limit 17.0", "calls_open 0.0");
      awaitMetrics(worker, "calls_limit 19.0", "stalled_total 0.0");

      gate.shut();
      var call =
          GRPCInferenceServiceGrpc.newFutureStub(worker.channel())
              .modelInfer(WorkerTest.request("double", 1, 1, 2));
      gate.awaitArrival();
      awaitMetrics(worker, "connections_open 1.0", "calls_open 1.0");
      gate.open();
      call.get();
      awaitMetrics(worker, "connections_open 1.0", "calls_open 0.0");
    }
  }

  @Test
  void shouldShowMessagesThatAreArriving() throws Exception {
    TestBundle.doubling(2, 1).write(repository, "double");
    try (RunningWorker worker =
        new RunningWorker(repository, gate, "--roundhouse.worker.scheduler.max-queued-bytes=4MB")
            .awaitLoaded()) {
      ConnectionMemory connection =
          Objects.requireNonNull(
              worker
                  .bean(PeerMemory.class)
                  .open(new InetSocketAddress("10.0.0.1", 1), 1 << 10, () -> {}));
      assertThat(connection.take(Kept.MESSAGE, 1 << 20)).isNull();
      assertThat(worker.bean(Engine.class).takeBytes(2 << 20)).isTrue();
      assertThat(connection.take(Kept.MESSAGE, (1 << 20) + 1))
          .contains("requests hold 3145728 bytes", "1048577 more");
      awaitMetrics(worker, "receiving_bytes 1048576.0");
      assertThat(worker.bean(Engine.class).heldBytes()).isEqualTo(3 << 20);

      worker.bean(Engine.class).giveBackBytes(2 << 20);
      connection.giveBack(Kept.MESSAGE, 1 << 20);
      connection.close();
      awaitMetrics(worker, "receiving_bytes 0.0");
      assertThat(worker.bean(Engine.class).heldBytes()).isZero();
    }
  }

  @Test
  void shouldShowNothingThatTheLibrarysTransportDoesNotTell() throws Exception {
    TestBundle.doubling(2, 1).write(repository, "double");
    System.setProperty("fixture.grpc-transport", "grpc-java");
    try (RunningWorker worker = new RunningWorker(repository, gate).awaitLoaded()) {
      String ours = "roundhouse_grpc_streams_open"; // is counted behind the transport
      assertThat(worker.get("metrics", "/metrics").replace(ours, ""))
          .doesNotContain("roundhouse_grpc_");
    } finally {
      System.clearProperty("fixture.grpc-transport");
    }
  }

  private static void awaitMetrics(RunningWorker worker, String... lines) throws Exception {
    while (true) {
      String metrics = worker.get("metrics", "/metrics");
      boolean all = true;
      for (String line : lines) {
        all &= metrics.contains("\nroundhouse_grpc_" + line + "\n");
      }
      if (all) {
        return;
      }
      if (Thread.currentThread().isInterrupted()) {
        throw new AssertionError(metrics);
      }
    }
  }
}
