package dev.roundhouse.gateway.discovery;

import dev.roundhouse.gateway.fleet.WorkerAddress;
import dev.roundhouse.gateway.fleet.WorkerSource;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/**
 * The ready endpoints of a Kubernetes service, by its EndpointSlices. A terminating endpoint is
 * removed before its process is told, so calls avoid it in time.
 */
public final class KubernetesSource implements WorkerSource {
  private static final Duration TIMEOUT = Duration.ofSeconds(10);
  private static final JsonMapper JSON = JsonMapper.shared();

  private final HttpClient client;
  private final URI slices;
  private final Path token;
  private final String service;
  private final int grpcPort;
  private final int httpPort;
  private final int metricsPort;

  /**
   * @param api address of the API server
   * @param token file of the service account's token, which is replaced from time to time
   */
  public KubernetesSource(
      HttpClient client,
      URI api,
      Path token,
      String namespace,
      String service,
      int grpcPort,
      int httpPort,
      int metricsPort) {
    this.client = client;
    this.token = token;
    this.service = namespace + "/" + service;
    this.grpcPort = grpcPort;
    this.httpPort = httpPort;
    this.metricsPort = metricsPort;
    slices =
        api.resolve(
            "/apis/discovery.k8s.io/v1/namespaces/%s/endpointslices?labelSelector=%s"
                .formatted(
                    namespace,
                    URLEncoder.encode(
                        "kubernetes.io/service-name=" + service, StandardCharsets.UTF_8)));
  }

  @Override
  public List<WorkerAddress> workers() throws IOException {
    try {
      HttpRequest request =
          HttpRequest.newBuilder(slices)
              .timeout(TIMEOUT)
              .header("Accept", "application/json")
              .header("Authorization", "Bearer " + Files.readString(token).strip())
              .build();
      HttpResponse<String> answer = client.send(request, BodyHandlers.ofString());
      if (answer.statusCode() != 200) {
        throw new IOException("the API server answered " + answer.statusCode());
      }
      return read(JSON.readTree(answer.body()));
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IOException("interrupted", e);
    } catch (IOException | JacksonException e) {
      throw new IOException(
          "endpoints of service %s (discovery.service) cannot be read: %s"
              .formatted(service, e.getMessage()),
          e);
    }
  }

  private List<WorkerAddress> read(JsonNode list) {
    List<WorkerAddress> workers = new ArrayList<>();
    for (JsonNode slice : list.path("items")) {
      for (JsonNode endpoint : slice.path("endpoints")) {
        // Unknown is ready, as the API says.
        if (endpoint.path("conditions").path("ready").asBoolean(true)) {
          for (JsonNode address : endpoint.path("addresses")) {
            workers.add(worker(endpoint, address.asString()));
          }
        }
      }
    }
    return workers;
  }

  private WorkerAddress worker(JsonNode endpoint, String address) {
    String pod = endpoint.path("targetRef").path("name").asString(address);
    return new WorkerAddress(
        pod,
        InetSocketAddress.createUnresolved(address, grpcPort),
        InetSocketAddress.createUnresolved(address, httpPort),
        InetSocketAddress.createUnresolved(address, metricsPort));
  }
}
