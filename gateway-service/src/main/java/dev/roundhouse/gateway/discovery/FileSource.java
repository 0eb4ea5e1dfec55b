package dev.roundhouse.gateway.discovery;

import dev.roundhouse.gateway.fleet.WorkerAddress;
import dev.roundhouse.gateway.fleet.WorkerSource;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.yaml.snakeyaml.LoaderOptions;
import org.yaml.snakeyaml.Yaml;
import org.yaml.snakeyaml.constructor.SafeConstructor;
import org.yaml.snakeyaml.error.YAMLException;

/**
 * A document of {@code workers: {NAME: {address: host:port, http: host:port, metrics: host:port,
 * stream: host:port}}}, rewritten when workers start or stop; read at each check.
 */
public final class FileSource implements WorkerSource {
  private static final int DEFAULT_HTTP_PORT = 8000;
  private static final Set<String> KEYS = Set.of("address", "http", "metrics", "stream");

  private final Path file;
  private final int metricsPort;

  /**
   * @param metricsPort of workers that the document names none of
   */
  public FileSource(Path file, int metricsPort) {
    this.file = file;
    this.metricsPort = metricsPort;
  }

  @Override
  public List<WorkerAddress> workers() throws IOException {
    try {
      Object document =
          new Yaml(new SafeConstructor(new LoaderOptions()))
              .load(Files.readString(file, StandardCharsets.UTF_8));
      return read(document);
    } catch (YAMLException | IllegalArgumentException e) {
      throw new IOException(
          "discovery.file %s is not a document of workers: %s".formatted(file, e.getMessage()), e);
    } catch (IOException e) {
      throw new IOException("discovery.file %s cannot be read: %s".formatted(file, e), e);
    }
  }

  private List<WorkerAddress> read(Object document) {
    if (!(document instanceof Map<?, ?> keys
        && keys.size() == 1
        && keys.get("workers") instanceof Map<?, ?> workers)) {
      throw new IllegalArgumentException("it has one key, 'workers', and names under it");
    }
    List<WorkerAddress> read = new ArrayList<>();
    workers.forEach((name, worker) -> read.add(worker(String.valueOf(name), worker)));
    return read;
  }

  private WorkerAddress worker(String name, Object worker) {
    if (!(worker instanceof Map<?, ?> keys) || !(keys.get("address") instanceof String address)) {
      throw new IllegalArgumentException("worker '" + name + "' has no address");
    }
    for (Object key : keys.keySet()) {
      if (!(key instanceof String known && KEYS.contains(known))) {
        throw new IllegalArgumentException(
            "worker '"
                + name
                + "' has the key '"
                + key
                + "'; there are address, http, metrics and stream");
      }
    }
    InetSocketAddress grpc = WorkerAddress.parse(address);
    return new WorkerAddress(
        name,
        grpc,
        other(keys.get("http"), grpc, DEFAULT_HTTP_PORT),
        other(keys.get("metrics"), grpc, metricsPort),
        WorkerAddress.parseStream(Objects.toString(keys.get("stream"), "")));
  }

  private static InetSocketAddress other(
      @Nullable Object address, InetSocketAddress grpc, int port) {
    return address == null
        ? InetSocketAddress.createUnresolved(grpc.getHostString(), port)
        : WorkerAddress.parse(address.toString());
  }
}
