package dev.roundhouse.worker.config;

import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * TLS of the port of tensor streams.
 *
 * @param bundle SSL bundle (`spring.ssl.bundle`) with the certificate that is shown, and those of
 *     clients that are trusted; empty for plain text. A bundle that is renewed is used for new
 *     connections.
 * @param clientAuth Whether clients are asked for a certificate: `optional` takes those without
 *     one, too.
 */
public record StreamSslProperties(
    @Nullable String bundle, @DefaultValue("none") ClientAuth clientAuth) {

  /** As of the gRPC port. */
  public enum ClientAuth {
    NONE,
    OPTIONAL,
    REQUIRE
  }

  /** Whether there is TLS. */
  public boolean isOn() {
    return bundle != null && !bundle.isEmpty();
  }

  /** Whether certificates of clients are looked at. */
  public boolean verifiesClients() {
    return isOn() && clientAuth != ClientAuth.NONE;
  }
}
