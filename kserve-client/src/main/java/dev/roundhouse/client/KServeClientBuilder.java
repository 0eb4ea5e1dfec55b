package dev.roundhouse.client;

import dev.roundhouse.client.retry.RetryPolicy;
import io.grpc.ChannelCredentials;
import io.grpc.InsecureChannelCredentials;
import io.grpc.ManagedChannel;
import io.grpc.TlsChannelCredentials;
import io.grpc.netty.NettyChannelBuilder;
import io.opentelemetry.api.OpenTelemetry;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** Builds a client. For one thread. */
public final class KServeClientBuilder {
  private static final int WINDOW_BYTES = 8 << 20;
  private static final int DEFAULT_MESSAGE_BYTES = 512 << 20;

  private final List<String> targets;
  private boolean tls;
  private @Nullable Path trusted;
  private @Nullable Path certificate;
  private @Nullable Path key;
  private @Nullable String authority;
  private @Nullable Supplier<String> token;
  private boolean tokenInTheClear;
  private int maxRequestBytes = DEFAULT_MESSAGE_BYTES;
  private int maxAnswerBytes = DEFAULT_MESSAGE_BYTES;
  private @Nullable Duration keepAlive;
  private Duration keepAliveTimeout = Duration.ofSeconds(20);
  private @Nullable Duration deadline = Duration.ofSeconds(10);
  private boolean budgetParameter = true;
  private RetryPolicy retry = RetryPolicy.DEFAULT;
  private SharedMemory sharedMemory = SharedMemory.AUTO;
  private @Nullable OpenTelemetry openTelemetry;
  private Executor executor = Thread::startVirtualThread;

  KServeClientBuilder(List<String> targets) {
    if (targets.isEmpty()) {
      throw new IllegalArgumentException("a client has a server or more: host:port");
    }
    for (String target : targets) {
      if (!target.matches("[^/\\s]+:\\d{1,5}")) {
        throw new IllegalArgumentException(
            "server '%s' is not host:port, such as localhost:8001".formatted(target));
      }
    }
    this.targets = targets;
  }

  /** Uses TLS, trusting the JVM's certificates. */
  public KServeClientBuilder tls() {
    tls = true;
    return this;
  }

  /**
   * Uses TLS, trusting these certificates.
   *
   * @param certificates PEM
   */
  public KServeClientBuilder trust(Path certificates) {
    trusted = certificates;
    return tls();
  }

  /**
   * Uses TLS with a client certificate.
   *
   * @param chain PEM
   * @param privateKey PEM, PKCS #8, not encrypted
   */
  public KServeClientBuilder identity(Path chain, Path privateKey) {
    certificate = chain;
    key = privateKey;
    return tls();
  }

  /** The name in the server's certificate, when it is not the host. */
  public KServeClientBuilder authority(String name) {
    authority = name;
    return this;
  }

  /**
   * Sends a bearer token with every attempt.
   *
   * @param provider called on the calling thread, or on one for retries
   */
  public KServeClientBuilder token(Supplier<String> provider) {
    token = Objects.requireNonNull(provider);
    return this;
  }

  /** Allows a token without TLS, readable by anyone on the path. */
  public KServeClientBuilder tokenInTheClear() {
    tokenInTheClear = true;
    return this;
  }

  /** Largest message sent; 512 MiB by default. */
  public KServeClientBuilder maxRequestBytes(int bytes) {
    maxRequestBytes = positive("maxRequestBytes", bytes);
    return this;
  }

  /** Largest message accepted; 512 MiB by default. */
  public KServeClientBuilder maxAnswerBytes(int bytes) {
    maxAnswerBytes = positive("maxAnswerBytes", bytes);
    return this;
  }

  private static int positive(String name, int value) {
    if (value < 1) {
      throw new IllegalArgumentException("%s is %d; it must be 1 or more".formatted(name, value));
    }
    return value;
  }

  /**
   * Sends keep-alive pings while calls are open, and drops a connection that does not reply.
   * Servers refuse more frequent pings than they allow: Roundhouse and Triton every 5 minutes
   * unless configured otherwise.
   *
   * @param interval 10 s or more
   */
  public KServeClientBuilder keepAlive(Duration interval, Duration timeout) {
    if (interval.compareTo(Duration.ofSeconds(10)) < 0) {
      throw new IllegalArgumentException(
          "keep-alive every %d ms; gRPC allows 10 s or more".formatted(interval.toMillis()));
    }
    keepAlive = interval;
    keepAliveTimeout = timeout;
    return this;
  }

  /** Limit on a call with all its attempts, unless the call sets its own; 10 s by default. */
  public KServeClientBuilder deadline(Duration each) {
    if (each.isZero() || each.isNegative()) {
      throw new IllegalArgumentException(
          "a deadline is more than 0, got %s; withoutDeadline() for none".formatted(each));
    }
    deadline = each;
    return this;
  }

  public KServeClientBuilder withoutDeadline() {
    deadline = null;
    return this;
  }

  /**
   * Whether to also send the time left in the parameter {@code reactant_timeout_ns}, which survives
   * proxies that drop {@code grpc-timeout}; true by default.
   */
  public KServeClientBuilder budgetParameter(boolean told) {
    budgetParameter = told;
    return this;
  }

  public KServeClientBuilder retry(RetryPolicy policy) {
    retry = Objects.requireNonNull(policy);
    return this;
  }

  /** Whether to pass tensors through memory shared with the server; by default where possible. */
  public KServeClientBuilder sharedMemory(SharedMemory shared) {
    sharedMemory = Objects.requireNonNull(shared);
    return this;
  }

  /**
   * Makes a span of each inference call, with all its attempts, below the span that the calling
   * thread is in, and tells servers of it. A stream has none of its own: servers are told of the
   * span that it was opened in. Without this servers are told of nothing.
   */
  public KServeClientBuilder openTelemetry(OpenTelemetry by) {
    openTelemetry = Objects.requireNonNull(by);
    return this;
  }

  /** Completes futures; by default a virtual thread each, which may block. */
  public KServeClientBuilder executor(Executor completes) {
    executor = Objects.requireNonNull(completes);
    return this;
  }

  /**
   * Builds the client. It connects on first use.
   *
   * @throws UncheckedIOException when a certificate or key cannot be read
   */
  public KServeClient build() {
    if (token != null && !tls && !tokenInTheClear) {
      throw new IllegalArgumentException(
          "a token would be sent without TLS; use tls(), or tokenInTheClear() on a network that is"
              + " trusted");
    }
    if (sharedMemory.mode() == SharedMemory.Mode.ON && targets.size() > 1) {
      throw new IllegalArgumentException(
          "shared memory is on and %d servers are named; a region is registered with one: name one, or use SharedMemory.AUTO"
              .formatted(targets.size()));
    }
    ChannelCredentials credentials = credentials();
    CallSettings settings =
        new CallSettings(
            deadline,
            retry,
            maxRequestBytes,
            maxAnswerBytes,
            token,
            budgetParameter,
            openTelemetry,
            executor);
    return new KServeClient(
        new ClientLink(
            new Targets(
                targets.stream()
                    .map(target -> new Target(target, channel(target, credentials)))
                    .toList()),
            settings,
            sharedMemory));
  }

  private ChannelCredentials credentials() {
    if (!tls) {
      return InsecureChannelCredentials.create();
    }
    TlsChannelCredentials.Builder credentials = TlsChannelCredentials.newBuilder();
    try {
      if (trusted != null) {
        credentials.trustManager(trusted.toFile());
      }
      if (certificate != null && key != null) {
        credentials.keyManager(certificate.toFile(), key.toFile());
      }
    } catch (IOException e) {
      throw new UncheckedIOException(
          "certificates or key cannot be read: %s, %s, %s".formatted(trusted, certificate, key), e);
    }
    return credentials.build();
  }

  private ManagedChannel channel(String target, ChannelCredentials credentials) {
    NettyChannelBuilder channel =
        NettyChannelBuilder.forTarget("dns:///" + target, credentials)
            .directExecutor() // listeners only hand on; see InferFuture
            .disableRetry() // ours count, and know what may be sent twice
            .flowControlWindow(WINDOW_BYTES)
            .maxInboundMessageSize(maxAnswerBytes);
    if (authority != null) {
      channel.overrideAuthority(authority);
    }
    if (keepAlive != null) {
      channel
          .keepAliveTime(keepAlive.toNanos(), TimeUnit.NANOSECONDS)
          .keepAliveTimeout(keepAliveTimeout.toNanos(), TimeUnit.NANOSECONDS);
    }
    return channel.intercept(new NamesServer(target)).build();
  }
}
