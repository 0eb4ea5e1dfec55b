package dev.roundhouse.platform.telemetry;

import dev.roundhouse.platform.config.StartRefusedException;
import dev.roundhouse.platform.config.TelemetryProperties;
import dev.roundhouse.platform.config.TelemetryProperties.Protocol;
import io.opentelemetry.exporter.otlp.http.trace.OtlpHttpSpanExporter;
import io.opentelemetry.exporter.otlp.trace.OtlpGrpcSpanExporter;
import io.opentelemetry.sdk.trace.export.SpanExporter;
import java.net.URI;
import java.net.URISyntaxException;
import java.time.Duration;

/** The way to the collector that an operator has named. */
final class Collector {
  private static final Duration CONNECT = Duration.ofSeconds(5);
  private static final String TRACES = "/v1/traces";

  private Collector() {}

  /**
   * @throws StartRefusedException when the endpoint is none
   */
  static SpanExporter exporter(TelemetryProperties properties, String prefix) {
    String endpoint = checked(properties, prefix + ".endpoint");
    return switch (properties.protocol()) {
      case GRPC ->
          OtlpGrpcSpanExporter.builder()
              .setEndpoint(endpoint)
              .setTimeout(properties.timeout())
              .setConnectTimeout(CONNECT)
              .build();
      case HTTP ->
          OtlpHttpSpanExporter.builder()
              .setEndpoint(endpoint)
              .setTimeout(properties.timeout())
              .setConnectTimeout(CONNECT)
              .build();
    };
  }

  private static String checked(TelemetryProperties properties, String key) {
    String text = properties.endpoint();
    URI endpoint = parsed(text, key);
    boolean isHttp = "http".equals(endpoint.getScheme()) || "https".equals(endpoint.getScheme());
    if (!isHttp || endpoint.getHost() == null) {
      throw refused(key, text, "it has no http:// or https:// before a host");
    }
    if (endpoint.getRawUserInfo() != null
        || endpoint.getRawQuery() != null
        || endpoint.getRawFragment() != null) {
      throw refused(key, text, "it has more than a host, a port and a path");
    }
    String path = endpoint.getRawPath();
    boolean hasPath = !path.isEmpty() && !path.equals("/");
    if (properties.protocol() == Protocol.GRPC) {
      if (hasPath) {
        throw refused(key, text, "it has the path " + path + ", and gRPC has none");
      }
      return text;
    }
    return hasPath ? text : endpoint.resolve(TRACES).toString();
  }

  private static URI parsed(String text, String key) {
    try {
      return new URI(text);
    } catch (URISyntaxException e) {
      throw refused(key, text, e.getReason());
    }
  }

  private static StartRefusedException refused(String key, String text, String why) {
    return new StartRefusedException(
        "%s is '%s': %s.".formatted(key, text, why),
        "Name the collector, such as http://collector:4317, or over HTTP http://collector:4318; leave it empty to send no spans.");
  }
}
