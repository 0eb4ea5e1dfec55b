package dev.roundhouse.gateway.fleet;

import io.grpc.netty.GrpcSslContexts;
import io.netty.handler.ssl.SslContext;
import io.netty.handler.ssl.SslContextBuilder;
import io.netty.handler.ssl.SslProvider;
import javax.net.ssl.SSLException;
import org.jspecify.annotations.Nullable;

/**
 * TLS to workers. Immutable.
 *
 * @param grpc null for plain text
 * @param http of HTTP/1.1; null for plain text
 * @param serverName that their certificates must have; empty for the host of their address
 */
public record WorkerTls(@Nullable SslContext grpc, @Nullable SslContext http, String serverName) {
  public static final WorkerTls NONE = new WorkerTls(null, null, "");

  /**
   * @param keys of the certificate that workers are shown, if they ask
   * @throws SSLException when no context can be made of them
   */
  public static WorkerTls of(CurrentKeys keys, CurrentTrust trusted, String serverName)
      throws SSLException {
    SslContext grpc = GrpcSslContexts.configure(checked(keys, trusted), SslProvider.JDK).build();
    SslContext http = checked(keys, trusted).sslProvider(SslProvider.JDK).build();
    return new WorkerTls(grpc, http, serverName);
  }

  private static SslContextBuilder checked(CurrentKeys keys, CurrentTrust trusted) {
    return SslContextBuilder.forClient()
        .keyManager(keys)
        .trustManager(trusted)
        .endpointIdentificationAlgorithm("HTTPS");
  }
}
