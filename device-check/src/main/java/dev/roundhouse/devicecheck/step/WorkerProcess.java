package dev.roundhouse.devicecheck.step;

import com.google.protobuf.UnsafeByteOperations;
import dev.roundhouse.bundle.tensor.DType;
import dev.roundhouse.bundle.tensor.Shape;
import dev.roundhouse.devicecheck.CheckContext;
import dev.roundhouse.devicecheck.Findings;
import dev.roundhouse.devicecheck.Step;
import dev.roundhouse.engine.embedded.Tensor;
import dev.roundhouse.kserve.proto.GRPCInferenceServiceGrpc;
import dev.roundhouse.kserve.proto.GRPCInferenceServiceGrpc.GRPCInferenceServiceBlockingStub;
import dev.roundhouse.kserve.proto.ModelInferRequest;
import dev.roundhouse.kserve.proto.ModelInferRequest.InferInputTensor;
import dev.roundhouse.kserve.proto.ModelInferResponse;
import io.grpc.ManagedChannel;
import io.grpc.StatusRuntimeException;
import io.grpc.netty.NettyChannelBuilder;
import java.io.BufferedReader;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** A worker as it is deployed, called over gRPC and stopped by SIGTERM. */
public final class WorkerProcess implements Step {
  private static final Pattern GRPC_PORT = Pattern.compile("\\bgrpc=(\\d+)");
  private static final Duration CALL = Duration.ofSeconds(10);
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
    Process worker = new ProcessBuilder(command(context)).redirectErrorStream(true).start();
    try (BufferedReader output = worker.inputReader()) {
      String ready = awaitReady(output);
      double seconds = (System.nanoTime() - start) / 1e9;
      findings.figure("from start to ready", seconds, "s", ready);
      findings.check("every model is ready", ready.contains("failed=0"), ready);
      Thread.ofVirtual().start(() -> output.lines().forEach(System.out::println));
      call(port(ready), context, findings);
      stop(worker, findings);
    } finally {
      worker.destroyForcibly();
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

  private static void call(int port, CheckContext context, Findings findings) throws IOException {
    ManagedChannel channel =
        NettyChannelBuilder.forAddress(
                new InetSocketAddress(InetAddress.getLoopbackAddress(), port))
            .usePlaintext()
            .build();
    try {
      GRPCInferenceServiceBlockingStub stub = GRPCInferenceServiceGrpc.newBlockingStub(channel);
      for (SampleCase sample : SampleCase.readAll(context.expected())) {
        try {
          ModelInferResponse answer =
              stub.withDeadlineAfter(CALL.toSeconds(), TimeUnit.SECONDS)
                  .modelInfer(request(sample));
          Difference difference = sample.compare(tensors(answer), context.platform());
          findings.check(sample.what(), difference.isRight(), difference.toString());
        } catch (StatusRuntimeException refused) {
          findings.fail(sample.what(), String.valueOf(refused.getMessage()));
        }
      }
    } finally {
      channel.shutdownNow();
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
