package dev.roundhouse.gateway.discovery;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.sun.net.httpserver.HttpServer;
import dev.roundhouse.gateway.fleet.WorkerAddress;
import dev.roundhouse.gateway.fleet.WorkerSource;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Where workers are found. */
class SourcesTest {
  private static final int METRICS = 8002;

  @TempDir Path folder;

  @Test
  void shouldReadAFileAgainAtEachLook() throws Exception {
    Path file = folder.resolve("workers.yaml");
    WorkerSource source = new FileSource(file, METRICS);
    assertThatThrownBy(source::workers).hasMessageContaining("discovery.file " + file);
    Files.writeString(
        file, "workers: {w0: {address: 'a:1', http: 'b:2'}, w1: {address: '[::1]:3'}}");
    assertThat(source.workers())
        .containsExactly(worker("w0", "a", 1, "b", 2), worker("w1", "::1", 3, "::1", 8000));
    Files.writeString(file, "workers: {}");
    assertThat(source.workers()).isEmpty();
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '~',
      value = {
        "worker: {} | it has one key, 'workers'",
        "workers: {w0: {adress: 'a:1'}} | worker 'w0' has no address",
        "workers: {w0: {address: 'a:1', grpc: 'b:1'}} | worker 'w0' has the key 'grpc'",
        "workers: {w0: {address: 'a'}} | 'a' is not host:port",
        "workers: {w0: {address: 'a:99999'}} | 'a:99999' is not host:port",
        "workers: [ | is not a document of workers"
      })
  void shouldSayWhatIsWrongWithAFile(String text, String why) throws Exception {
    Path file = Files.writeString(folder.resolve("workers.yaml"), text);
    assertThatThrownBy(() -> new FileSource(file, METRICS).workers())
        .isInstanceOf(IOException.class)
        .hasMessageContaining(why);
  }

  @Test
  void shouldFindTheAddressesOfAName() throws Exception {
    assertThat(new DnsSource("127.0.0.1", 1, 2, METRICS).workers())
        .containsExactly(worker("127.0.0.1", "127.0.0.1", 1, "127.0.0.1", 2));
    assertThatThrownBy(() -> new DnsSource("no-such-host.invalid", 1, 2, METRICS).workers())
        .hasMessage("no address is known of 'no-such-host.invalid' (discovery.dns)");
  }

  @Test
  void shouldFindTheReadyEndpointsOfAService() throws Exception {
    AtomicReference<String> asked = new AtomicReference<>("");
    HttpServer api =
        HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    api.createContext(
        "/",
        exchange -> {
          asked.set(
              exchange.getRequestURI() + " " + exchange.getRequestHeaders().get("Authorization"));
          byte[] body = SLICES.getBytes(StandardCharsets.UTF_8);
          exchange.sendResponseHeaders(200, body.length);
          exchange.getResponseBody().write(body);
          exchange.close();
        });
    api.start();
    try (HttpClient client = HttpClient.newHttpClient()) {
      Path token = Files.writeString(folder.resolve("token"), "secret\n");
      WorkerSource source =
          new KubernetesSource(
              client,
              URI.create("http://127.0.0.1:" + api.getAddress().getPort()),
              token,
              "ns",
              "workers",
              8001,
              8000,
              METRICS);
      assertThat(source.workers())
          .containsExactly(
              worker("pod-a", "10.0.0.1", 8001, "10.0.0.1", 8000),
              worker("10.0.0.3", "10.0.0.3", 8001, "10.0.0.3", 8000));
      assertThat(asked.get())
          .isEqualTo(
              "/apis/discovery.k8s.io/v1/namespaces/ns/endpointslices"
                  + "?labelSelector=kubernetes.io%2Fservice-name%3Dworkers [Bearer secret]");
      api.stop(0);
      assertThatThrownBy(source::workers)
          .hasMessageStartingWith("endpoints of service ns/workers (discovery.service)");
    }
  }

  private static final String SLICES =
      """
      {"items": [
        {"endpoints": [
          {"addresses": ["10.0.0.1"], "conditions": {"ready": true}, "targetRef": {"name": "pod-a"}},
          {"addresses": ["10.0.0.2"], "conditions": {"ready": false, "serving": true}}]},
        {"endpoints": [{"addresses": ["10.0.0.3"]}]},
        {"endpoints": null}]}
      """;

  @Test
  void shouldKeepWhatASourceSaidLastAndPreferTheFirst() throws Exception {
    AtomicReference<List<WorkerAddress>> said =
        new AtomicReference<>(List.of(worker("w0", "x", 1, "x", 2), worker("w1", "x", 3, "x", 4)));
    WorkerSource failing =
        () -> {
          List<WorkerAddress> now = said.get();
          if (now.isEmpty()) {
            throw new IOException("nobody knows");
          }
          return now;
        };
    WorkerAddress listed = worker("w0", "listed", 1, "listed", 2);
    WorkerSource all = new AllSources(List.of(() -> List.of(listed), failing));
    assertThat(all.workers()).containsExactly(listed, worker("w1", "x", 3, "x", 4));
    said.set(List.of());
    assertThat(all.workers()).containsExactly(listed, worker("w1", "x", 3, "x", 4));
    said.set(List.of(worker("w2", "y", 5, "y", 6)));
    assertThat(all.workers()).containsExactly(listed, worker("w2", "y", 5, "y", 6));
  }

  private static WorkerAddress worker(
      String name, String grpcHost, int grpc, String httpHost, int http) {
    return new WorkerAddress(
        name,
        InetSocketAddress.createUnresolved(grpcHost, grpc),
        InetSocketAddress.createUnresolved(httpHost, http),
        InetSocketAddress.createUnresolved(grpcHost, METRICS));
  }
}
