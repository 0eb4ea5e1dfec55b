package dev.roundhouse.gateway.fleet;

import io.grpc.netty.GrpcSslContexts;
import io.netty.handler.ssl.SslContext;
import io.netty.handler.ssl.SslContextBuilder;
import io.netty.handler.ssl.SslProvider;
import java.security.GeneralSecurityException;
import javax.net.ssl.KeyManager;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLException;
import javax.net.ssl.TrustManager;
import org.jspecify.annotations.Nullable;

/**
 * How workers are spoken to. Immutable.
 *
 * @param grpc null for plain text
 * @param rest of HTTP/1.1; null for plain text
 * @param http the same for the JDK's client
 * @param serverName that their certificates must have; empty for the host of their address
 */
public record WorkerTls(
    @Nullable SslContext grpc,
    @Nullable SslContext rest,
    @Nullable SSLContext http,
    String serverName) {
  public static final WorkerTls NONE = new WorkerTls(null, null, null, "");

  /**
   * @param keys of the certificate that workers are shown, if they ask
   * @throws GeneralSecurityException when nothing can be made of it
   * @throws SSLException the same
   */
  public static WorkerTls of(CurrentKeys keys, CurrentTrust trusted, String serverName)
      throws GeneralSecurityException, SSLException {
    SslContext grpc = GrpcSslContexts.configure(checked(keys, trusted), SslProvider.JDK).build();
    TrustManager[] trust = {trusted};
    SSLContext http = SSLContext.getInstance("TLS");
    http.init(
        new KeyManager[] {keys},
        serverName.isEmpty() ? trust : new TrustManager[] {NamedTrust.of(trust, serverName)},
        null);
    SslContext rest = checked(keys, trusted).sslProvider(SslProvider.JDK).build();
    return new WorkerTls(grpc, rest, http, serverName);
  }

  private static SslContextBuilder checked(CurrentKeys keys, CurrentTrust trusted) {
    return SslContextBuilder.forClient()
        .keyManager(keys)
        .trustManager(trusted)
        .endpointIdentificationAlgorithm("HTTPS");
  }
}
