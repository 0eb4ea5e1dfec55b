package dev.roundhouse.benchmarks.serving;

import dev.roundhouse.benchmarks.BenchRun;
import dev.roundhouse.benchmarks.measure.Child;
import dev.roundhouse.benchmarks.measure.GcPauses;
import io.grpc.ManagedChannel;
import io.grpc.netty.NettyChannelBuilder;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A server process and a channel to it. All run on this JVM's JDK with the same options and heap,
 * and are called in the same way.
 */
public record InferServer(String name, Child process, ManagedChannel channel, Path gcLog)
    implements AutoCloseable {
  private static final List<String> JVM_OPTIONS =
      List.of(
          "--enable-native-access=ALL-UNNAMED",
          "--sun-misc-unsafe-memory-access=allow",
          "-Xms512m",
          "-Xmx512m",
          "-XX:+AlwaysPreTouch");
  private static final Pattern GRPC_PORT = Pattern.compile("\\bgrpc=(\\d+)");

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
    List<String> program = new ArrayList<>();
    program.addAll(
        List.of(
            "-jar",
            run.root().workerJar().toString(),
            "--roundhouse.worker.repository.directories=" + repository,
            "--server.address=127.0.0.1",
            "--server.port=0",
            "--spring.grpc.server.address=127.0.0.1",
            "--spring.grpc.server.port=0",
            "--management.server.address=127.0.0.1",
            "--management.server.port=0"));
    program.addAll(List.of(settings));
    Path gcLog = scratch.resolve(name + ".gc");
    Child process = start(name, program, scratch, gcLog);
    try {
      String ready = process.awaitLine("ready ");
      Matcher port = GRPC_PORT.matcher(ready);
      if (!port.find() || !ready.contains("failed=0")) {
        throw new IOException("the worker is not ready to be measured: " + ready);
      }
      return connect(name, process, Integer.parseInt(port.group(1)), gcLog);
    } catch (IOException | RuntimeException failure) {
      process.close();
      throw failure;
    }
  }

  /** An {@link EchoServer} with that executor. */
  public static InferServer echo(String executor, Path scratch) throws IOException {
    String name = "echo-" + executor;
    List<String> program =
        List.of("-cp", System.getProperty("java.class.path"), EchoServer.class.getName(), executor);
    Path gcLog = scratch.resolve(name + ".gc");
    Child process = start(name, program, scratch, gcLog);
    return connect(name, process, Integer.parseInt(process.awaitLine("listening ")), gcLog);
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
    ClosedLoop.Load load = loop(rows).run(outstanding, duration);
    return ServerSample.of(load, cpu().minus(before));
  }

  /** What asks it for rows of the {@link IdentityModel}. */
  public ClosedLoop loop(int rows) {
    return new ClosedLoop(channel, IdentityModel.request(rows), rows * IdentityModel.BYTES);
  }

  public GcPauses gcPauses() throws IOException {
    return GcPauses.read(gcLog);
  }

  @Override
  public void close() {
    channel.shutdownNow();
    process.close();
  }

  private static Child start(String name, List<String> program, Path scratch, Path gcLog)
      throws IOException {
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.addAll(JVM_OPTIONS);
    command.add("-Xlog:gc:file=" + gcLog);
    command.addAll(program);
    return Child.start(name, command, Map.of(), scratch.resolve(name + ".log"));
  }

  private static InferServer connect(String name, Child process, int port, Path gcLog) {
    process.ignoreOutput();
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
