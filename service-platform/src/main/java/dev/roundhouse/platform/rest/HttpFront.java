package dev.roundhouse.platform.rest;

import dev.roundhouse.kserve.status.WireStatus;
import dev.roundhouse.platform.access.Access;
import dev.roundhouse.platform.access.ApiCategory;
import dev.roundhouse.platform.access.ApiMethod;
import dev.roundhouse.platform.access.Credentials;
import dev.roundhouse.platform.audit.Audit;
import dev.roundhouse.platform.audit.Caller;
import dev.roundhouse.platform.config.HttpProperties;
import dev.roundhouse.platform.config.StartRefusedException;
import dev.roundhouse.platform.grpc.PortLoad;
import dev.roundhouse.platform.process.DescriptorShare;
import dev.roundhouse.platform.tls.BundleContext;
import dev.roundhouse.transport.http1.Http1Server;
import dev.roundhouse.transport.http1.Http1Settings;
import dev.roundhouse.transport.http1.RequestGuard;
import dev.roundhouse.transport.http1.RequestRoutes;
import dev.roundhouse.transport.http2.ServerTls;
import dev.roundhouse.transport.memory.PeerMemory;
import io.grpc.StatusException;
import io.netty.handler.codec.http.HttpHeaderNames;
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
import java.util.function.Supplier;
import javax.net.ssl.SSLException;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.ssl.SslBundle;
import org.springframework.boot.ssl.SslBundles;
import org.springframework.boot.ssl.SslOptions;
import org.springframework.boot.web.server.PortInUseException;
import org.springframework.boot.web.server.Ssl;
import org.springframework.boot.web.server.WebServerSslBundle;
import org.springframework.boot.web.server.autoconfigure.ServerProperties;

/**
 * The protocol's port over HTTP, by Boot's settings under {@code server} and our own. Boot starts
 * it and drains it, as the web server of the application.
 */
public final class HttpFront implements AutoCloseable {
  private static final int DEFAULT_PORT = 8080;
  private static final ApiMethod INFERENCE =
      new ApiMethod(ApiCategory.INFERENCE, ApiMethod.Effect.READS);

  private final Settings settings;
  private final SslBundles bundles;
  private final Browsers browsers;
  private final Access access;
  private final RequestRoutes routes;
  private final PortLoad load;
  private final PeerMemory memory;
  private final Consumer<Throwable> failed;
  private volatile Supplier<@Nullable SslContext> tls = () -> null;
  private volatile @Nullable Http1Server running;

  /**
   * @param server Boot's settings under {@code server}
   * @param port in place of the one there; null for that one
   * @param http our own
   * @param descriptors of files that a connection takes
   * @param body what a request may hold
   * @param stalled what a head may take, and each further part of a body
   * @param stalledRemedy told to a client whose body stalls
   */
  public record Settings(
      ServerProperties server,
      @Nullable Integer port,
      HttpProperties http,
      int descriptors,
      Http1Settings.BodyLimits body,
      Duration stalled,
      String stalledRemedy) {

    public Settings(
        ServerProperties server,
        HttpProperties http,
        int descriptors,
        Http1Settings.BodyLimits body,
        Duration stalled,
        String stalledRemedy) {
      this(server, null, http, descriptors, body, stalled, stalledRemedy);
    }

    /** The same at another port. */
    public Settings at(int port) {
      return new Settings(server, port, http, descriptors, body, stalled, stalledRemedy);
    }

    /** The limit of connections. */
    public int maxConnections() {
      int configured = http.maxConnections() < 0 ? Integer.MAX_VALUE : http.maxConnections();
      return DescriptorShare.ofProcess().connections(configured, descriptors);
    }
  }

  /**
   * @param browsers what they may not ask
   * @param access who may run inference; services decide of the rest
   * @param failed told the cause when a thread of the server has died
   */
  public HttpFront(
      Settings settings,
      SslBundles bundles,
      Browsers browsers,
      Access access,
      RequestRoutes routes,
      PortLoad load,
      PeerMemory memory,
      Consumer<Throwable> failed) {
    this.settings = settings;
    this.bundles = bundles;
    this.browsers = browsers;
    this.access = access;
    this.routes = routes;
    this.load = load;
    this.memory = memory;
    this.failed = failed;
  }

  /** Begins to listen. */
  public void start() {
    secure();
    Integer own = settings.port();
    int port =
        own == null ? Objects.requireNonNullElse(settings.server().getPort(), DEFAULT_PORT) : own;
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
  }

  /** The port; negative before it listens. */
  public int getPort() {
    Http1Server server = running;
    return server == null ? -1 : server.port();
  }

  private Http1Settings settings(int port) {
    ServerProperties server = settings.server();
    HttpProperties http = settings.http();
    InetSocketAddress address =
        server.getAddress() == null
            ? new InetSocketAddress(port)
            : new InetSocketAddress(server.getAddress(), port);
    return new Http1Settings(
        address,
        () -> tls.get(),
        this::judge,
        routes,
        JsonReply::error,
        load,
        failed,
        memory,
        settings.body(),
        new Http1Settings.Limits(
            settings.maxConnections(),
            http.acceptCount(),
            Math.toIntExact(server.getMaxHttpRequestHeaderSize().toBytes()),
            http.maxKeepAliveRequests()),
        new Http1Settings.Times(
            nanos(http.connectionTimeout()),
            nanos(Objects.requireNonNullElse(http.keepAliveTimeout(), http.connectionTimeout())),
            nanos(settings.stalled()),
            settings.stalledRemedy()));
  }

  private RequestGuard.Verdict judge(RequestGuard.Head head) {
    int query = head.target().indexOf('?');
    String path = query < 0 ? head.target() : head.target().substring(0, query);
    Browsers.Refusal refusal =
        browsers.refusal(
            new Browsers.Head(
                head.method(),
                path,
                head.local() instanceof InetSocketAddress local
                    && local.getAddress().isLoopbackAddress(),
                head.session() != null,
                head.headers()::get));
    if (refusal == null) {
      return admit(head);
    }
    if (!InferPath.endsAsOne(path) && TextPath.of(path) == null && !V1InferPath.beginsAsOne(path)) {
      Audit.ended(
          new Caller(head.client().get(), head.method() + " " + path),
          "",
          "answered with " + refusal.code());
    }
    return RequestGuard.Verdict.refused(refusal.code(), refusal.text());
  }

  private RequestGuard.Verdict admit(RequestGuard.Head head) {
    if (access.isFree(INFERENCE)
        || (InferPath.of(head.method(), head.target()) == null
            && TextPath.of(head.method(), head.target()) == null
            && V1InferPath.of(head.method(), head.target()) == null)) {
      return RequestGuard.Verdict.allowed(null);
    }
    try {
      return RequestGuard.Verdict.allowed(
          access.admit(
              ApiCategory.INFERENCE,
              false,
              "inference",
              new Credentials(
                  head.remote(),
                  head.session(),
                  Credentials.joined(head.headers().getAll(HttpHeaderNames.AUTHORIZATION)),
                  Credentials.joined(head.headers().getAll(Access.SEALED_CALLER)))));
    } catch (StatusException e) {
      return RequestGuard.Verdict.refused(
          WireStatus.httpCode(e.getStatus().getCode().value()),
          String.valueOf(e.getStatus().getDescription()));
    }
  }

  /** Negative times mean forever. */
  private static long nanos(Duration time) {
    return time.isNegative() ? Long.MAX_VALUE / 2 : time.toNanos();
  }

  private void secure() {
    Ssl ssl = settings.server().getSsl();
    if (!Ssl.isEnabled(ssl) || ssl == null) {
      return;
    }
    String name = ssl.getBundle();
    if (name != null && !name.isBlank()) {
      tls = BundleContext.of(bundles, "the HTTP server", name, each -> context(ssl, each))::get;
      return;
    }
    try {
      SslContext only = context(ssl, WebServerSslBundle.get(ssl, bundles));
      tls = () -> only;
    } catch (SSLException e) {
      throw new StartRefusedException(
          "the HTTP server cannot use its certificate: " + e.getMessage(), "See server.ssl.", e);
    }
  }

  private static SslContext context(Ssl ssl, SslBundle bundle) throws SSLException {
    SslOptions options = bundle.getOptions();
    Ssl.ClientAuth wanted = ssl.getClientAuth();
    ClientAuth clients =
        switch (wanted == null ? Ssl.ClientAuth.NONE : wanted) {
          case NONE -> ClientAuth.NONE;
          case WANT -> ClientAuth.OPTIONAL;
          case NEED -> ClientAuth.REQUIRE;
        };
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
    } else {
      builder.protocols(ServerTls.PROTOCOLS);
    }
    return builder.build();
  }

  /** Makes clients go elsewhere, while they are still served. */
  public void leave() {
    Http1Server server = running;
    if (server != null) {
      server.leave();
    }
  }

  /**
   * Accepts no further connections, and answers pending requests of the open ones.
   *
   * @param done run when no connection is left
   */
  public void drain(Runnable done) {
    Http1Server server = running;
    if (server == null) {
      done.run();
    } else {
      var unused = server.drain().whenComplete((nothing, failure) -> done.run());
    }
  }

  /** Closes the remaining connections: their time is over. */
  @Override
  public void close() {
    Http1Server server = running;
    if (server != null) {
      server.close();
    }
  }
}
