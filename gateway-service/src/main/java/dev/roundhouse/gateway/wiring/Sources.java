package dev.roundhouse.gateway.wiring;

import dev.roundhouse.gateway.config.DiscoveryProperties;
import dev.roundhouse.gateway.config.GatewayProperties;
import dev.roundhouse.gateway.discovery.AllSources;
import dev.roundhouse.gateway.discovery.DnsSource;
import dev.roundhouse.gateway.discovery.FileSource;
import dev.roundhouse.gateway.discovery.KubernetesSource;
import dev.roundhouse.gateway.fleet.WorkerAddress;
import dev.roundhouse.gateway.fleet.WorkerSource;
import dev.roundhouse.platform.config.StartRefusedException;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.security.cert.Certificate;
import java.security.cert.CertificateFactory;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.UnaryOperator;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;
import org.jspecify.annotations.Nullable;

/** Where workers are found, by the settings. */
final class Sources {
  private static final Path SERVICE_ACCOUNT =
      Path.of("/var/run/secrets/kubernetes.io/serviceaccount");
  private static final Duration CONNECT_TIMEOUT = Duration.ofSeconds(5);

  private final GatewayProperties properties;
  private final UnaryOperator<@Nullable String> environment;
  private final Path serviceAccount;

  Sources(
      GatewayProperties properties,
      UnaryOperator<@Nullable String> environment,
      Path serviceAccount) {
    this.properties = properties;
    this.environment = environment;
    this.serviceAccount = serviceAccount;
  }

  static WorkerSource of(GatewayProperties properties) {
    return new Sources(properties, System::getenv, SERVICE_ACCOUNT).all();
  }

  /**
   * @throws StartRefusedException when there is no source, or one cannot be used here
   */
  WorkerSource all() {
    DiscoveryProperties discovery = properties.discovery();
    List<WorkerSource> sources = new ArrayList<>();
    List<WorkerAddress> listed = listed();
    if (!listed.isEmpty()) {
      sources.add(() -> listed);
    }
    if (!discovery.file().isEmpty()) {
      sources.add(new FileSource(Path.of(discovery.file()), discovery.metricsPort()));
    }
    if (!discovery.dns().isEmpty()) {
      sources.add(
          new DnsSource(
              discovery.dns(),
              discovery.grpcPort(),
              discovery.httpPort(),
              discovery.metricsPort()));
    }
    if (!discovery.service().isEmpty()) {
      sources.add(kubernetes(discovery));
    }
    refuseIgnored(discovery);
    if (sources.isEmpty()) {
      throw new StartRefusedException(
          "the gateway has no workers.",
          "Name them (roundhouse.gateway.workers.NAME.address=HOST:8001), or say where they are"
              + " found (roundhouse.gateway.discovery.dns, .file or .service).");
    }
    return new AllSources(sources);
  }

  /** Workers that are listed or in the file have their gRPC ports there. */
  private static void refuseIgnored(DiscoveryProperties discovery) {
    boolean finds = !discovery.dns().isEmpty() || !discovery.service().isEmpty();
    if (!finds && discovery.grpcPort() != DiscoveryProperties.GRPC_PORT) {
      throw new StartRefusedException(
          "roundhouse.gateway.discovery.grpc-port is %d, and no workers are found by DNS or a service."
              .formatted(discovery.grpcPort()),
          "Remove it, and write each worker's port behind its host; or set discovery.dns or .service.");
    }
  }

  private List<WorkerAddress> listed() {
    List<WorkerAddress> listed = new ArrayList<>();
    properties
        .workers()
        .forEach(
            (name, worker) -> {
              InetSocketAddress grpc = parse(name, worker.address());
              DiscoveryProperties discovery = properties.discovery();
              listed.add(
                  new WorkerAddress(
                      name,
                      grpc,
                      other(name, worker.http(), grpc, discovery.httpPort()),
                      other(name, worker.metrics(), grpc, discovery.metricsPort()),
                      stream(name, worker.stream())));
            });
    return listed;
  }

  /**
   * @param text empty for the port of the same host
   */
  private static InetSocketAddress other(
      String name, String text, InetSocketAddress grpc, int port) {
    return text.isEmpty()
        ? InetSocketAddress.createUnresolved(grpc.getHostString(), port)
        : parse(name, text);
  }

  private static @Nullable SocketAddress stream(String name, String text) {
    return text.isEmpty() || text.startsWith("/")
        ? WorkerAddress.parseStream(text)
        : parse(name, text);
  }

  private static InetSocketAddress parse(String name, String text) {
    try {
      return WorkerAddress.parse(text);
    } catch (IllegalArgumentException e) {
      throw new StartRefusedException(
          "roundhouse.gateway.workers." + name + ": " + e.getMessage() + ".",
          "Write the host and the port, such as 10.0.0.1:8001.");
    }
  }

  private WorkerSource kubernetes(DiscoveryProperties discovery) {
    String host = environment.apply("KUBERNETES_SERVICE_HOST");
    String port = environment.apply("KUBERNETES_SERVICE_PORT");
    Path namespace = serviceAccount.resolve("namespace");
    try {
      if (host == null || port == null) {
        throw new IOException("KUBERNETES_SERVICE_HOST is not set");
      }
      String[] service = discovery.service().split("/", 2);
      String name = service[service.length - 1];
      String in = service.length == 2 ? service[0] : Files.readString(namespace).strip();
      HttpClient client =
          HttpClient.newBuilder()
              .connectTimeout(CONNECT_TIMEOUT)
              .sslContext(trusting(serviceAccount.resolve("ca.crt")))
              .build();
      String bracketed = host.contains(":") ? "[" + host + "]" : host;
      return new KubernetesSource(
          client,
          URI.create("https://" + bracketed + ":" + port),
          serviceAccount.resolve("token"),
          in,
          name,
          discovery.grpcPort(),
          discovery.httpPort(),
          discovery.metricsPort());
    } catch (IOException | GeneralSecurityException e) {
      throw new StartRefusedException(
          "roundhouse.gateway.discovery.service needs a pod with a service account: "
              + e.getMessage()
              + ".",
          "Run the gateway in Kubernetes, or find workers by discovery.dns or .file.");
    }
  }

  private static SSLContext trusting(Path certificates)
      throws IOException, GeneralSecurityException {
    KeyStore trusted = KeyStore.getInstance(KeyStore.getDefaultType());
    trusted.load(null, null);
    try (InputStream in = Files.newInputStream(certificates)) {
      int number = 0;
      for (Certificate each : CertificateFactory.getInstance("X.509").generateCertificates(in)) {
        trusted.setCertificateEntry("ca" + number++, each);
      }
    }
    TrustManagerFactory trust =
        TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
    trust.init(trusted);
    SSLContext context = SSLContext.getInstance("TLS");
    context.init(null, trust.getTrustManagers(), null);
    return context;
  }
}
