package dev.roundhouse.transport.http2;

import static io.netty.handler.ssl.ApplicationProtocolConfig.SelectedListenerFailureBehavior.ACCEPT;

import io.netty.handler.codec.http2.Http2SecurityUtil;
import io.netty.handler.ssl.ApplicationProtocolConfig;
import io.netty.handler.ssl.ApplicationProtocolConfig.SelectorFailureBehavior;
import io.netty.handler.ssl.ApplicationProtocolNames;
import io.netty.handler.ssl.ClientAuth;
import io.netty.handler.ssl.SslContext;
import io.netty.handler.ssl.SslContextBuilder;
import io.netty.handler.ssl.SupportedCipherSuiteFilter;
import java.util.List;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLException;
import javax.net.ssl.TrustManagerFactory;
import org.jspecify.annotations.Nullable;

/** TLS of servers: of gRPC, whose clients must negotiate HTTP/2 by ALPN, and of others. */
public final class ServerTls {
  /** What is spoken, whatever the JDK would speak too. */
  public static final List<String> PROTOCOLS = List.of("TLSv1.3", "TLSv1.2");

  private ServerTls() {}

  /** A context for {@link Http2ServerBuilder#tls}. */
  public static SslContext context(
      KeyManagerFactory keys, @Nullable TrustManagerFactory trusted, ClientAuth clients)
      throws SSLException {
    return context(
        keys,
        trusted,
        clients,
        ApplicationProtocolNames.HTTP_2,
        SelectorFailureBehavior.NO_ADVERTISE);
  }

  /**
   * A context for another protocol, which clients need not name. Those that name others only are
   * refused by an alert.
   */
  public static SslContext contextOf(
      String protocol,
      KeyManagerFactory keys,
      @Nullable TrustManagerFactory trusted,
      ClientAuth clients)
      throws SSLException {
    return context(keys, trusted, clients, protocol, SelectorFailureBehavior.FATAL_ALERT);
  }

  private static SslContext context(
      KeyManagerFactory keys,
      @Nullable TrustManagerFactory trusted,
      ClientAuth clients,
      String protocol,
      SelectorFailureBehavior others)
      throws SSLException {
    return SslContextBuilder.forServer(keys)
        .trustManager(trusted)
        .clientAuth(clients)
        .protocols(PROTOCOLS)
        .ciphers(Http2SecurityUtil.CIPHERS, SupportedCipherSuiteFilter.INSTANCE)
        .applicationProtocolConfig(
            new ApplicationProtocolConfig(
                ApplicationProtocolConfig.Protocol.ALPN, others, ACCEPT, protocol))
        .build();
  }
}
