package dev.roundhouse.gateway;

import dev.roundhouse.gateway.fleet.Workers;
import dev.roundhouse.kserve.control.proto.ControlServiceGrpc;
import dev.roundhouse.kserve.control.proto.ControlServiceGrpc.ControlServiceBlockingStub;
import dev.roundhouse.kserve.control.proto.GatewayControlServiceGrpc;
import dev.roundhouse.kserve.control.proto.GatewayControlServiceGrpc.GatewayControlServiceBlockingStub;
import dev.roundhouse.kserve.proto.GRPCInferenceServiceGrpc;
import dev.roundhouse.kserve.proto.GRPCInferenceServiceGrpc.GRPCInferenceServiceBlockingStub;
import io.grpc.CallOptions;
import io.grpc.ManagedChannel;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.netty.NettyChannelBuilder;
import io.grpc.stub.ClientCalls;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.BooleanSupplier;
import java.util.function.IntConsumer;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.support.GenericApplicationContext;
import org.springframework.grpc.server.lifecycle.GrpcServerLifecycle;

/** A whole gateway on free loopback ports, before workers that a test has made. */
final class RunningGateway implements AutoCloseable {
  private static final long MOST_NANOS = 60_000_000_000L;

  private final CompletableFuture<Integer> exited = new CompletableFuture<>();
  private final ConfigurableApplicationContext context;
  private final ManagedChannel channel;
  private final HttpClient http = HttpClient.newHttpClient();

  RunningGateway(List<FakeWorker> workers, String... settings) {
    List<String> arguments =
        new ArrayList<>(
            List.of(
                "--server.port=0",
                "--server.address=127.0.0.1",
                "--spring.grpc.server.port=0",
                "--spring.grpc.server.address=127.0.0.1",
                "--management.server.port=0",
                "--management.server.address=127.0.0.1",
                "--roundhouse.gateway.health.interval=100ms",
                "--roundhouse.gateway.health.timeout=5s"));
    workers.forEach(worker -> arguments.addAll(List.of(worker.settings())));
    arguments.addAll(List.of(settings));
    context =
        new SpringApplicationBuilder(GatewayApplication.class)
            .initializers(
                (GenericApplicationContext made) ->
                    made.registerBean("processExit", IntConsumer.class, () -> exited::complete))
            .run(arguments.toArray(String[]::new));
    channel =
        NettyChannelBuilder.forAddress(
                "127.0.0.1", context.getBean(GrpcServerLifecycle.class).getPort())
            .usePlaintext()
            .build();
  }

  /** Completes with the code when the gateway would end its process. */
  CompletableFuture<Integer> exited() {
    return exited;
  }

  ManagedChannel channel() {
    return channel;
  }

  GRPCInferenceServiceBlockingStub stub() {
    return GRPCInferenceServiceGrpc.newBlockingStub(channel);
  }

  GRPCInferenceServiceGrpc.GRPCInferenceServiceStub asyncStub() {
    return GRPCInferenceServiceGrpc.newStub(channel);
  }

  ControlServiceBlockingStub control() {
    return ControlServiceGrpc.newBlockingStub(channel);
  }

  GatewayControlServiceBlockingStub scheduling() {
    return GatewayControlServiceGrpc.newBlockingStub(channel);
  }

  /** What a call of these bytes ends with. */
  Status refusal(String method, byte[] request) throws Exception {
    MethodDescriptor<byte[], byte[]> raw =
        MethodDescriptor.<byte[], byte[]>newBuilder(new Raw(), new Raw())
            .setType(MethodDescriptor.MethodType.UNARY)
            .setFullMethodName(method)
            .build();
    try {
      byte[] answer = ClientCalls.blockingUnaryCall(channel, raw, CallOptions.DEFAULT, request);
      throw new AssertionError(answer.length + " bytes were answered");
    } catch (StatusRuntimeException e) {
      return e.getStatus();
    }
  }

  private static final class Raw implements MethodDescriptor.Marshaller<byte[]> {
    @Override
    public InputStream stream(byte[] message) {
      return new ByteArrayInputStream(message);
    }

    @Override
    public byte[] parse(InputStream stream) {
      try {
        return stream.readAllBytes();
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }
  }

  /** On the REST port. */
  HttpResponse<String> send(String method, String path, String body, String... headers)
      throws IOException, InterruptedException {
    return sendTo("local.server.port", method, path, body, headers);
  }

  /** On the management port. */
  String management(String path) throws IOException, InterruptedException {
    return sendTo("local.management.port", "GET", path, "").body();
  }

  /** On the management port, with a body of JSON. */
  HttpResponse<String> change(String path, String json) throws IOException, InterruptedException {
    return sendTo("local.management.port", "POST", path, json, "Content-Type", "application/json");
  }

  HttpResponse<String> sendTo(
      String port, String method, String path, String body, String... headers)
      throws IOException, InterruptedException {
    HttpRequest.Builder request =
        HttpRequest.newBuilder(
                URI.create("http://127.0.0.1:" + context.getEnvironment().getProperty(port) + path))
            .method(method, BodyPublishers.ofString(body));
    if (headers.length > 0) {
      request.headers(headers);
    }
    return http.send(request.build(), BodyHandlers.ofString());
  }

  <T> T bean(Class<T> type) {
    return context.getBean(type);
  }

  /** Polls until it holds. */
  static void await(String what, BooleanSupplier condition) throws InterruptedException {
    long end = System.nanoTime() + MOST_NANOS;
    while (!condition.getAsBoolean()) {
      if (System.nanoTime() > end) {
        throw new AssertionError("not within a minute: " + what);
      }
      Thread.sleep(5);
    }
  }

  void awaitReady(int workers) throws InterruptedException {
    await(workers + " workers are ready", () -> bean(Workers.class).ready().size() == workers);
  }

  @Override
  public void close() {
    channel.shutdownNow();
    context.close();
  }
}
