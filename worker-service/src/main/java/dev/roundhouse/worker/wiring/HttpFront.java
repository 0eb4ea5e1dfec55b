package dev.roundhouse.worker.wiring;

import dev.roundhouse.platform.audit.Audit;
import dev.roundhouse.platform.audit.Caller;
import dev.roundhouse.platform.config.StartRefusedException;
import dev.roundhouse.platform.grpc.PortLoad;
import dev.roundhouse.platform.process.DescriptorShare;
import dev.roundhouse.platform.rest.Browsers;
import dev.roundhouse.platform.rest.JsonReply;
import dev.roundhouse.transport.http1.Http1Server;
import dev.roundhouse.transport.http1.Http1Settings;
import dev.roundhouse.transport.http1.RequestGuard;
import dev.roundhouse.transport.memory.PeerMemory;
import dev.roundhouse.worker.transport.rest.InferRoutes;
import io.netty.handler.codec.http2.Http2SecurityUtil;
import io.netty.handler.ssl.ClientAuth;
import io.netty.handler.ssl.SslContext;
import io.netty.handler.ssl.SslContextBuilder;
import io.netty.handler.ssl.SupportedCipherSuiteFilter;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.Arrays;
import java.util.Objects;
import java.util.function.Consumer;
import javax.net.ssl.SSLException;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.beans.factory.DisposableBean;
import org.springframework.boot.ssl.SslBundle;
import org.springframework.boot.ssl.SslBundles;
import org.springframework.boot.ssl.SslOptions;
import org.springframework.boot.tomcat.autoconfigure.TomcatServerProperties;
import org.springframework.boot.web.server.PortInUseException;
import org.springframework.boot.web.server.Ssl;
import org.springframework.boot.web.server.WebServerSslBundle;
import org.springframework.boot.web.server.autoconfigure.ServerProperties;
import org.springframework.boot.web.server.context.WebServerApplicationContext;
import org.springframework.context.SmartLifecycle;
import org.springframework.core.env.ConfigurableEnvironment;
import org.springframework.core.env.MapPropertySource;

/**
 * The worker's own HTTP server, by Boot's settings under {@code server}. Begins when Tomcat behind
 * it has, and drains beside it.
 */
final class HttpFront implements SmartLifecycle, DisposableBean {
  private static final Logger log = LoggerFactory.getLogger(HttpFront.class);
  private static final int DEFAULT_PORT = 8080;

  /** Of a connection: the client's, and both ends of the one to Tomcat. */
  private static final int DESCRIPTORS = 3;

  /** Tomcat's where Boot leaves it alone. */
  private static final Duration DEFAULT_TIMEOUT = Duration.ofSeconds(60);

  private static final String INSTEAD =
      "Remove it, or set roundhouse.worker.server.http-transport to tomcat.";

  private final Settings settings;
  private final SslBundles bundles;
  private final TomcatBehind behind;
  private final Browsers browsers;
  private final InferRoutes routes;
  private final PortLoad load;
  private final PeerMemory memory;
  private final Consumer<Throwable> failed;
  private final ConfigurableEnvironment environment;
  private volatile @Nullable SslContext tls;
  private volatile @Nullable Http1Server running;

  /**
   * @param server what Boot has under {@code server}
   * @param tomcat what it has under {@code server.tomcat}
   * @param worker the worker's own
   */
  record Settings(
      ServerProperties server,
      TomcatServerProperties tomcat,
      dev.roundhouse.worker.config.ServerProperties worker) {}

  /**
   * @param browsers what they may not ask
   * @param failed hears why when the server cannot be relied on any more
   * @param environment that is told the port
   * @throws StartRefusedException when a setting is one that this server does not have
   */
  HttpFront(
      Settings settings,
      SslBundles bundles,
      TomcatBehind behind,
      Browsers browsers,
      InferRoutes routes,
      PortLoad load,
      PeerMemory memory,
      Consumer<Throwable> failed,
      ConfigurableEnvironment environment) {
    this.settings = settings;
    this.bundles = bundles;
    this.behind = behind;
    this.browsers = browsers;
    this.routes = routes;
    this.load = load;
    this.memory = memory;
    this.failed = failed;
    this.environment = environment;
    refuse(settings.server().getHttp2().isEnabled(), "server.http2.enabled is true");
    refuse(settings.tomcat().getAccesslog().isEnabled(), "server.tomcat.accesslog.enabled is true");
    refuse(settings.server().getServerHeader() != null, "server.server-header is set");
    Ssl ssl = settings.server().getSsl();
    refuse(
        ssl != null && !ssl.getServerNameBundles().isEmpty(),
        "server.ssl.server-name-bundles is set");
  }

  private static void refuse(boolean asked, String what) {
    if (asked) {
      throw new StartRefusedException(
          what + ", which the worker's own HTTP server does not have.", INSTEAD);
    }
  }

  /** How many there may be; each may have another to Tomcat, which has both ends here. */
  static int maxConnections(TomcatServerProperties tomcat) {
    int configured =
        tomcat.getMaxConnections() < 0 ? Integer.MAX_VALUE : tomcat.getMaxConnections();
    return DescriptorShare.ofProcess().connections(configured, DESCRIPTORS);
  }

  /** After Tomcat has started; and ends while it drains. */
  @Override
  public int getPhase() {
    return WebServerApplicationContext.GRACEFUL_SHUTDOWN_PHASE;
  }

  @Override
  public void start() {
    secure();
    int port = Objects.requireNonNullElse(settings.server().getPort(), DEFAULT_PORT);
    Http1Server server = new Http1Server(settings(port));
    try {
      server.start();
    } catch (IOException e) {
      PortInUseException.throwIfPortBindingException(e, () -> port);
      throw new StartRefusedException(
          "the HTTP server cannot listen on port " + port + ": " + e.getCause(),
          "See server.port and server.address.",
          e);
    }
    running = server;
    if (environment.getPropertySources().get("server.ports") instanceof MapPropertySource ports) {
      ports.getSource().put("local.server.port", server.port());
    }
  }

  private Http1Settings settings(int port) {
    ServerProperties server = settings.server();
    TomcatServerProperties tomcat = settings.tomcat();
    Duration silent = Objects.requireNonNullElse(tomcat.getConnectionTimeout(), DEFAULT_TIMEOUT);
    Duration idle = Objects.requireNonNullElse(tomcat.getKeepAliveTimeout(), silent);
    InetSocketAddress address =
        server.getAddress() == null
            ? new InetSocketAddress(port)
            : new InetSocketAddress(server.getAddress(), port);
    return new Http1Settings(
        address,
        () -> tls,
        behind.socket(),
        TomcatBehind.CLIENT,
        this::refusal,
        routes,
        JsonReply::error,
        load,
        failed,
        memory,
        new Http1Settings.BodyLimits(
            Math.toIntExact(settings.worker().maxMessageSize().toBytes()), InferRoutes.REMEDY),
        new Http1Settings.Limits(
            maxConnections(tomcat),
            tomcat.getAcceptCount(),
            Math.toIntExact(server.getMaxHttpRequestHeaderSize().toBytes()),
            tomcat.getMaxKeepAliveRequests()),
        new Http1Settings.Times(
            nanos(silent),
            nanos(idle),
            nanos(settings.worker().stalledMessageTimeout()),
            "raise roundhouse.worker.server.stalled-message-timeout"));
  }

  private RequestGuard.@Nullable Refusal refusal(RequestGuard.Head head) {
    int query = head.target().indexOf('?');
    String path = query < 0 ? head.target() : head.target().substring(0, query);
    Browsers.Refusal refusal =
        browsers.refusal(
            new Browsers.Head(
                head.method(),
                path,
                head.local() instanceof InetSocketAddress local
                    && local.getAddress().isLoopbackAddress(),
                head.secure(),
                head.headers()::get));
    if (refusal == null) {
      return null;
    }
    if (!path.endsWith("/infer")) {
      Audit.record(
          new Caller(head.client().get(), head.method() + " " + path),
          "answered with " + refusal.code());
    }
    return new RequestGuard.Refusal(refusal.code(), refusal.text());
  }

  /** Less than nothing is for ever, as in Tomcat. */
  private static long nanos(Duration time) {
    return time.isNegative() ? Long.MAX_VALUE / 2 : time.toNanos();
  }

  private void secure() {
    Ssl ssl = settings.server().getSsl();
    if (!Ssl.isEnabled(ssl) || ssl == null) {
      return;
    }
    tls = context(ssl, WebServerSslBundle.get(ssl, bundles));
    if (ssl.getBundle() != null) {
      bundles.addBundleUpdateHandler(ssl.getBundle(), renewed -> renew(ssl, renewed));
    }
  }

  private void renew(Ssl ssl, SslBundle renewed) {
    try {
      tls = context(ssl, renewed);
    } catch (RuntimeException e) {
      log.error("a renewed SSL bundle cannot be used; the one before stays", e);
    }
  }

  private static SslContext context(Ssl ssl, SslBundle bundle) {
    SslOptions options = bundle.getOptions();
    Ssl.ClientAuth wanted = ssl.getClientAuth();
    ClientAuth clients =
        switch (wanted == null ? Ssl.ClientAuth.NONE : wanted) {
          case NONE -> ClientAuth.NONE;
          case WANT -> ClientAuth.OPTIONAL;
          case NEED -> ClientAuth.REQUIRE;
        };
    try {
      SslContextBuilder builder =
          SslContextBuilder.forServer(bundle.getManagers().getKeyManagerFactory())
              .trustManager(bundle.getManagers().getTrustManagerFactory())
              .clientAuth(clients);
      if (options.getCiphers() != null) {
        builder.ciphers(Arrays.asList(options.getCiphers()));
      } else { // gRPC's: the JDK's own choice has some that do not notice changes
        builder.ciphers(Http2SecurityUtil.CIPHERS, SupportedCipherSuiteFilter.INSTANCE);
      }
      if (options.getEnabledProtocols() != null) {
        builder.protocols(options.getEnabledProtocols());
      }
      return builder.build();
    } catch (SSLException e) {
      throw new StartRefusedException(
          "the HTTP server cannot use its certificate: " + e.getMessage(), "See server.ssl.", e);
    }
  }

  /** Has clients go elsewhere, while they are served. */
  void leave() {
    Http1Server server = running;
    if (server != null) {
      server.leave();
    }
  }

  @Override
  public void stop(Runnable done) {
    Http1Server server = running;
    if (server == null) {
      done.run();
      return;
    }
    var unused = server.drain().whenComplete((nothing, failure) -> done.run());
  }

  @Override
  public void stop() {
    stop(() -> {});
  }

  /** Who is still connected has had its time. */
  @Override
  public void destroy() {
    Http1Server server = running;
    if (server != null) {
      server.close();
    }
  }

  @Override
  public boolean isRunning() {
    return running != null;
  }
}
