package dev.roundhouse.benchmarks.serving;

import dev.roundhouse.measure.Child;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/**
 * A Triton server, the peer.
 *
 * @param models those that it serves
 */
public record TritonServer(ServerProcess process, List<TritonModel> models)
    implements AutoCloseable {
  private static final Duration PATIENCE = Duration.ofSeconds(60);
  private static final long LOOK_MILLIS = 50;
  private static final long PYTHON_BYTES = 128L << 20;

  /**
   * Starts one and waits until it is live and has tried to load every model.
   *
   * @param models those that do not load are left out: Python's need a Python that not every
   *     machine has
   * @throws IOException when a model that is not Python's is not served
   */
  public static TritonServer start(
      TritonInstallation triton, Path scratch, List<TritonModel> models) throws IOException {
    Path folder = Files.createTempDirectory(scratch, "triton-");
    Path repository = Files.createDirectory(folder.resolve("models"));
    for (TritonModel model : models) {
      model.write(repository, triton.pythonPackages());
    }
    Path backends = folder.resolve("backends");
    triton.linkBackends(backends);
    int grpcPort = FreePort.find();
    int httpPort = FreePort.find();
    Child child =
        Child.start(
            "triton",
            command(triton, repository, backends, grpcPort, httpPort),
            Map.of("LD_LIBRARY_PATH", triton.libraries().toString()),
            folder.resolve("log"));
    child.ignoreOutput();
    ServerProcess process = new ServerProcess("triton", child, grpcPort, httpPort);
    try {
      return new TritonServer(process, served(process, models));
    } catch (IOException | RuntimeException failure) {
      process.close();
      throw failure;
    }
  }

  private static List<String> command(
      TritonInstallation triton, Path repository, Path backends, int grpcPort, int httpPort) {
    return List.of(
        triton.program().toString(),
        "--model-repository=" + repository,
        "--backend-directory=" + backends,
        "--backend-config=python,shm-default-byte-size=" + PYTHON_BYTES,
        "--exit-on-error=false",
        "--strict-readiness=false",
        "--allow-metrics=false",
        "--grpc-address=127.0.0.1",
        "--grpc-port=" + grpcPort,
        "--http-address=127.0.0.1",
        "--http-port=" + httpPort);
  }

  /** It listens when every model has loaded or failed. */
  private static List<TritonModel> served(ServerProcess process, List<TritonModel> models)
      throws IOException {
    try (HttpClient client = HttpClient.newHttpClient()) {
      long deadline = System.nanoTime() + PATIENCE.toNanos();
      while (!answersOk(client, process, "health/live")) {
        if (!process.process().isAlive() || System.nanoTime() > deadline) {
          throw new IOException(
              "Triton does not serve on port %d after up to %d s; its last lines:\n%s"
                  .formatted(
                      process.httpPort(), PATIENCE.toSeconds(), process.process().lastLines()));
        }
        TimeUnit.MILLISECONDS.sleep(LOOK_MILLIS);
      }
      List<TritonModel> served = new ArrayList<>();
      for (TritonModel model : models) {
        if (answersOk(client, process, "models/" + model.name() + "/ready")) {
          served.add(model);
        } else if (!model.isPython()) {
          throw new IOException(
              "Triton does not serve %s; its last lines:\n%s"
                  .formatted(model.name(), process.process().lastLines()));
        }
      }
      return List.copyOf(served);
    } catch (InterruptedException stopped) {
      Thread.currentThread().interrupt();
      throw new IOException("stopped while Triton was starting", stopped);
    }
  }

  private static boolean answersOk(HttpClient client, ServerProcess process, String path)
      throws InterruptedException {
    URI uri = URI.create("http://127.0.0.1:%d/v2/%s".formatted(process.httpPort(), path));
    try {
      HttpRequest request = HttpRequest.newBuilder(uri).timeout(PATIENCE).build();
      return client.send(request, HttpResponse.BodyHandlers.discarding()).statusCode() == 200;
    } catch (IOException notYet) {
      return false;
    }
  }

  @Override
  public void close() {
    process.close();
  }
}
