package dev.roundhouse.worker;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.engine.Engine;
import dev.roundhouse.engine.device.Device;
import dev.roundhouse.engine.device.ReferenceFunction;
import dev.roundhouse.engine.device.SimulatedDevice;
import dev.roundhouse.engine.device.SimulatedDeviceOptions;
import dev.roundhouse.engine.time.NanoClock;
import dev.roundhouse.kserve.proto.GRPCInferenceServiceGrpc;
import dev.roundhouse.kserve.proto.GRPCInferenceServiceGrpc.GRPCInferenceServiceBlockingStub;
import dev.roundhouse.worker.lifecycle.EngineLifecycle;
import dev.roundhouse.worker.transport.Transports;
import dev.roundhouse.worker.transport.shm.CudaAccess;
import io.grpc.Grpc;
import io.grpc.InsecureChannelCredentials;
import io.grpc.ManagedChannel;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.IntConsumer;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.context.ApplicationContextInitializer;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.support.GenericApplicationContext;

/** A whole worker on free loopback ports, with a simulated device or the CPU plugin. */
final class RunningWorker implements AutoCloseable {

  static final String COST_FILE = "--roundhouse.worker.scheduler.cost-file=";
  static final String CACHE = "--roundhouse.worker.compile.cache=";

  private final CompletableFuture<Integer> exited = new CompletableFuture<>();
  private final ConfigurableApplicationContext context;
  private final ManagedChannel channel;
  private final HttpClient http = HttpClient.newHttpClient();

  RunningWorker(Path repository, ReferenceFunction function, String... settings) {
    this(repository, simulated(function), settings);
  }

  static Device simulated(ReferenceFunction function) {
    return new SimulatedDevice(SimulatedDeviceOptions.instant(function), NanoClock.SYSTEM);
  }

  /**
   * @param device in place of the configured one; null leaves that
   */
  RunningWorker(Path repository, @Nullable Device device, String... settings) {
    this(repository, device, null, settings);
  }

  /**
   * @param device in place of the configured one; null leaves that
   * @param cuda whether memory on a GPU can be registered; null leaves it to the device
   */
  RunningWorker(
      Path repository, @Nullable Device device, @Nullable CudaAccess cuda, String... settings) {
    ApplicationContextInitializer<GenericApplicationContext> simulated =
        context -> {
          if (device != null) {
            context.registerBean("simulatedDevice", Device.class, () -> device);
          }
          if (cuda != null) {
            context.registerBean("fakeCuda", CudaAccess.class, () -> cuda);
          }
          context.registerBean("processExit", IntConsumer.class, () -> exited::complete);
        };
    List<String> arguments =
        new ArrayList<>(
            List.of(
                "--roundhouse.worker.repository.directories=" + repository,
                "--server.port=0",
                "--server.address=127.0.0.1",
                "--spring.grpc.server.port=0",
                "--spring.grpc.server.address=127.0.0.1",
                "--management.server.port=0",
                "--management.server.address=127.0.0.1"));
    for (String setting : settings) {
      String key = setting.substring(0, setting.indexOf('=') + 1);
      arguments.removeIf(argument -> !key.isEmpty() && argument.startsWith(key));
    }
    arguments.addAll(List.of(settings));
    for (String kept : List.of(COST_FILE, CACHE)) {
      if (arguments.stream().noneMatch(argument -> argument.startsWith(kept))) {
        arguments.add(kept + "none");
      }
    }
    context =
        new SpringApplicationBuilder(WorkerApplication.class)
            .initializers(simulated)
            .run(arguments.toArray(String[]::new));
    channel =
        Grpc.newChannelBuilder("127.0.0.1:" + port("grpc"), InsecureChannelCredentials.create())
            .build();
  }

  /**
   * No request is open, and nothing is held: a client may have read its answer before the server
   * knows that it was sent.
   */
  void assertHoldsNothing() {
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(60);
    Engine engine = bean(Engine.class);
    while (!(holdsNothing() && engine.openRequests() == 0) && System.nanoTime() < end) {
      Thread.onSpinWait();
    }
    assertThat(engine.openRequests()).isZero();
    assertThat(holdsNothing()).isTrue();
  }

  /** True when no request holds anything. */
  boolean holdsNothing() {
    return bean(Engine.class).heldBytes() == 0;
  }

  <T> T bean(Class<T> type) {
    return context.getBean(type);
  }

  <T> T bean(String name, Class<T> type) {
    return context.getBean(name, type);
  }

  int port(String transport) {
    return Objects.requireNonNull(bean(Transports.class).ports().get(transport), transport);
  }

  /** Waits until every model is ready or has failed. */
  RunningWorker awaitLoaded() throws Exception {
    bean(EngineLifecycle.class).loaded().get(60, TimeUnit.SECONDS);
    return this;
  }

  /** Completes with the code with which the process would have ended itself. */
  CompletableFuture<Integer> exited() {
    return exited;
  }

  ManagedChannel channel() {
    return channel;
  }

  GRPCInferenceServiceBlockingStub stub() {
    return GRPCInferenceServiceGrpc.newBlockingStub(channel);
  }

  /** Status code, a space, the body. */
  String get(String transport, String path) throws Exception {
    URI uri = URI.create("http://127.0.0.1:" + port(transport) + path);
    var response = http.send(HttpRequest.newBuilder(uri).build(), BodyHandlers.ofString());
    return response.statusCode() + " " + response.body();
  }

  /** A request to the protocol's port, to be completed and given to {@link #send}. */
  HttpRequest.Builder http(String path) {
    return HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + port("http") + path));
  }

  HttpResponse<byte[]> send(HttpRequest.Builder request) throws Exception {
    return http.send(request.build(), BodyHandlers.ofByteArray());
  }

  CompletableFuture<HttpResponse<byte[]>> sendAsync(HttpRequest.Builder request) {
    return http.sendAsync(request.build(), BodyHandlers.ofByteArray());
  }

  /** Posts JSON to the management port; status code, a space, the body. */
  String post(String path, String json) throws Exception {
    return post("metrics", path, json);
  }

  /** As {@link #post(String, String)}, to the port of that name. */
  String post(String port, String path, String json) throws Exception {
    URI uri = URI.create("http://127.0.0.1:" + port(port) + path);
    HttpRequest request =
        HttpRequest.newBuilder(uri)
            .header("Content-Type", "application/json")
            .POST(BodyPublishers.ofString(json))
            .build();
    var response = http.send(request, BodyHandlers.ofString());
    return response.statusCode() + " " + response.body();
  }

  /** Stops as SIGTERM does; returns when the worker has stopped. */
  void stop() {
    context.close();
  }

  @Override
  public void close() {
    stop();
    channel.shutdownNow();
    http.close();
  }
}
