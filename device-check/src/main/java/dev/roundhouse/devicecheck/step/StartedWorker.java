package dev.roundhouse.devicecheck.step;

import dev.roundhouse.devicecheck.CheckContext;
import dev.roundhouse.kserve.proto.GRPCInferenceServiceGrpc;
import dev.roundhouse.kserve.proto.GRPCInferenceServiceGrpc.GRPCInferenceServiceBlockingStub;
import io.grpc.ManagedChannel;
import io.grpc.netty.NettyChannelBuilder;
import java.io.BufferedReader;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** A worker as it is deployed, on the device that is checked, once it is ready. */
final class StartedWorker implements AutoCloseable {
  private static final Pattern GRPC_PORT = Pattern.compile("\\bgrpc=(\\d+)");
  private static final Duration CALL = Duration.ofSeconds(10);

  private final Process process;
  private final String ready;
  private final ManagedChannel channel;

  private StartedWorker(Process process, String ready) throws IOException {
    this.process = process;
    this.ready = ready;
    channel =
        NettyChannelBuilder.forAddress(
                new InetSocketAddress(InetAddress.getLoopbackAddress(), port(ready)))
            .usePlaintext()
            .build();
  }

  /**
   * Starts one that serves all samples; what it prints goes to the step's log.
   *
   * @param settings further arguments
   */
  static StartedWorker start(CheckContext context, String... settings) throws IOException {
    List<String> command = command(context);
    command.addAll(List.of(settings));
    Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
    try {
      BufferedReader output = process.inputReader();
      String ready = awaitReady(output);
      Thread.ofVirtual().start(() -> output.lines().forEach(System.out::println));
      return new StartedWorker(process, ready);
    } catch (IOException | RuntimeException e) {
      process.destroyForcibly();
      throw e;
    }
  }

  private static List<String> command(CheckContext context) {
    List<String> command = new ArrayList<>();
    command.add(CheckContext.java().toString());
    command.addAll(context.jvmOptions());
    command.add("-jar");
    command.add(context.home().resolve("worker.jar").toString());
    command.add("--roundhouse.worker.repository.directories=" + context.models());
    command.add("--roundhouse.worker.scheduler.cost-file=none");
    command.add("--roundhouse.worker.compile.cache=none");
    command.add("--roundhouse.worker.device.platform=" + context.platform());
    if (context.plugin() != null) {
      command.add("--roundhouse.worker.device.plugin=" + context.plugin());
    }
    if (context.allocator() != null) {
      command.add("--roundhouse.worker.device.cuda.allocator=" + context.allocator());
    }
    for (String server : List.of("server", "spring.grpc.server", "management.server")) {
      command.add("--" + server + ".address=127.0.0.1");
      command.add("--" + server + ".port=0");
    }
    return command;
  }

  private static String awaitReady(BufferedReader output) throws IOException {
    for (String line = output.readLine(); line != null; line = output.readLine()) {
      System.out.println(line);
      if (line.startsWith("ready ")) {
        return line;
      }
    }
    throw new IOException("the worker ended before it was ready; its log says why");
  }

  private static int port(String ready) throws IOException {
    Matcher port = GRPC_PORT.matcher(ready);
    if (!port.find()) {
      throw new IOException("the worker names no port: " + ready);
    }
    return Integer.parseInt(port.group(1));
  }

  /** What it said when it was ready. */
  String ready() {
    return ready;
  }

  Process process() {
    return process;
  }

  /** For one call. */
  GRPCInferenceServiceBlockingStub stub() {
    return GRPCInferenceServiceGrpc.newBlockingStub(channel)
        .withDeadlineAfter(CALL.toSeconds(), TimeUnit.SECONDS);
  }

  @Override
  public void close() {
    channel.shutdownNow();
    process.destroyForcibly();
  }
}
