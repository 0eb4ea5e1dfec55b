package dev.roundhouse.benchmarks.serving;

import dev.roundhouse.benchmarks.bench.BenchRun;
import dev.roundhouse.benchmarks.client.Load;
import dev.roundhouse.measure.Child;
import dev.roundhouse.measure.GcPauses;
import io.grpc.ManagedChannel;
import io.grpc.netty.NettyChannelBuilder;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;

/**
 * A server process and a channel to it. All run on this JVM's JDK with the same options and heap,
 * and are called in the same way.
 */
public record InferServer(String name, Child process, ManagedChannel channel, Path gcLog)
    implements AutoCloseable {
  /** A worker, with every model of {@code repository} ready. */
  public static InferServer worker(BenchRun run, Path scratch, Path repository) throws IOException {
    return worker("worker", run, scratch, repository);
  }

  /**
   * A worker of a name.
   *
   * @param settings as on the command line
   */
  public static InferServer worker(
      String name, BenchRun run, Path scratch, Path repository, String... settings)
      throws IOException {
    ServerProcess worker = WorkerServer.start(name, run, scratch, repository, settings);
    return connect(name, worker.process(), worker.grpcPort(), JvmServer.gcLog(scratch, name));
  }

  /** An {@link EchoServer} with that executor. */
  public static InferServer echo(String executor, Path scratch) throws IOException {
    String name = "echo-" + executor;
    List<String> program =
        List.of("-cp", System.getProperty("java.class.path"), EchoServer.class.getName(), executor);
    Child process = JvmServer.start(name, program, scratch);
    int port = Integer.parseInt(process.awaitLine("listening "));
    process.ignoreOutput();
    return connect(name, process, port, JvmServer.gcLog(scratch, name));
  }

  private Duration cpu() {
    return process.cpu();
  }

  /**
   * Asks it for so long, each request sent by the answer to another.
   *
   * @param rows of each request
   */
  public ServerSample sample(int rows, int outstanding, Duration duration)
      throws InterruptedException {
    Duration before = cpu();
    Load load = loop(rows).run(outstanding, duration);
    return ServerSample.of(load, cpu().minus(before));
  }

  /** What asks it for rows of 4 KiB. */
  public ClosedLoop loop(int rows) {
    return new ClosedLoop(
        channel,
        RowModel.NEGATE_FOUR_KIB.request(rows),
        rows * RowModel.NEGATE_FOUR_KIB.rowBytes());
  }

  public GcPauses gcPauses() throws IOException {
    return GcPauses.read(gcLog);
  }

  @Override
  public void close() {
    channel.shutdownNow();
    process.close();
  }

  private static InferServer connect(String name, Child process, int port, Path gcLog) {
    // The client is the measuring instrument: without a hop of its own it adds the least.
    ManagedChannel channel =
        NettyChannelBuilder.forAddress(
                new InetSocketAddress(InetAddress.getLoopbackAddress(), port))
            .usePlaintext()
            .directExecutor()
            .build();
    return new InferServer(name, process, channel, gcLog);
  }
}
