package dev.roundhouse.platform.grpc;

import dev.roundhouse.platform.config.StartRefusedException;
import dev.roundhouse.platform.tls.BundleContext;
import dev.roundhouse.transport.http2.Http2ServerBuilder;
import dev.roundhouse.transport.http2.ServerTls;
import io.grpc.TlsServerCredentials;
import io.netty.handler.ssl.ClientAuth;
import io.netty.handler.ssl.SslContext;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import javax.net.ssl.SSLException;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.grpc.server.autoconfigure.GrpcServerProperties;
import org.springframework.boot.grpc.server.autoconfigure.GrpcServerProperties.Keepalive;
import org.springframework.boot.grpc.server.autoconfigure.GrpcServerProperties.Netty.Transport;
import org.springframework.boot.ssl.SslBundle;
import org.springframework.boot.ssl.SslBundles;
import org.springframework.grpc.server.DefaultGrpcServerFactory;

/** Makes our own gRPC server by Boot's settings under {@code spring.grpc.server}. */
public final class Http2GrpcServerFactory extends DefaultGrpcServerFactory<Http2ServerBuilder> {
  private final GrpcServerProperties settings;
  private final int port;
  private final SslBundles bundles;

  /** At the port of the settings. */
  public Http2GrpcServerFactory(
      GrpcServerProperties settings, SslBundles bundles, Consumer<Http2ServerBuilder> customizer) {
    this(
        settings,
        Objects.requireNonNull(settings.getPort(), "spring.grpc.server.port"),
        bundles,
        customizer);
  }

  /**
   * @param port in place of the one of the settings
   * @param customizer has the last word
   */
  public Http2GrpcServerFactory(
      GrpcServerProperties settings,
      int port,
      SslBundles bundles,
      Consumer<Http2ServerBuilder> customizer) {
    super("*", List.of(customizer::accept));
    this.settings = settings;
    this.port = port;
    this.bundles = bundles;
  }

  @Override
  protected Http2ServerBuilder newServerBuilder() {
    if (settings.getNetty().getTransport() == Transport.DOMAIN_SOCKET
        || settings.getNetty().getDomainSocketPath() != null) {
      throw new StartRefusedException(
          "spring.grpc.server.netty asks for a domain socket, which this gRPC server does not have.",
          "Remove spring.grpc.server.netty.");
    }
    InetAddress address = settings.getAddress();
    Http2ServerBuilder builder =
        Http2ServerBuilder.forAddress(
            address == null ? new InetSocketAddress(port) : new InetSocketAddress(address, port));
    builder.maxInboundMetadataSize(
        Math.toIntExact(settings.getInbound().getMetadata().getMaxSize().toBytes()));
    keepAlive(builder, settings.getKeepalive());
    secure(builder, settings.getSsl());
    return builder;
  }

  private static void keepAlive(Http2ServerBuilder builder, Keepalive settings) {
    apply(settings.getTime(), builder::keepAliveTime);
    apply(settings.getTimeout(), builder::keepAliveTimeout);
    apply(settings.getConnection().getMaxIdleTime(), builder::maxConnectionIdle);
    apply(settings.getConnection().getMaxAge(), builder::maxConnectionAge);
    apply(settings.getConnection().getGracePeriod(), builder::maxConnectionAgeGrace);
    apply(settings.getPermit().getTime(), builder::permitKeepAliveTime);
    builder.permitKeepAliveWithoutCalls(settings.getPermit().isWithoutCalls());
  }

  private static void apply(@Nullable Duration time, BiConsumer<Long, TimeUnit> setting) {
    if (time != null) {
      setting.accept(time.toNanos(), TimeUnit.NANOSECONDS);
    }
  }

  private void secure(Http2ServerBuilder builder, GrpcServerProperties.Ssl settings) {
    String name = settings.getBundle();
    boolean enabled = settings.getEnabled() == null ? name != null : settings.getEnabled();
    if (!enabled) {
      return;
    }
    if (name == null) {
      throw new StartRefusedException(
          "spring.grpc.server.ssl.enabled is true and there is no spring.grpc.server.ssl.bundle.",
          "Name a bundle of spring.ssl.bundle.");
    }
    builder.tls(
        BundleContext.of(bundles, "the gRPC server", name, bundle -> context(bundle, settings)));
  }

  private static SslContext context(SslBundle bundle, GrpcServerProperties.Ssl settings)
      throws SSLException {
    TlsServerCredentials.ClientAuth clients = settings.getClientAuth();
    return ServerTls.context(
        bundle.getManagers().getKeyManagerFactory(),
        settings.isSecure() ? bundle.getManagers().getTrustManagerFactory() : null,
        switch (clients) {
          case NONE -> ClientAuth.NONE;
          case OPTIONAL -> ClientAuth.OPTIONAL;
          case REQUIRE -> ClientAuth.REQUIRE;
        });
  }
}
