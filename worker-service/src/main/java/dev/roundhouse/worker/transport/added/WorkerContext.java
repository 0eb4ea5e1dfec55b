package dev.roundhouse.worker.transport.added;

import dev.roundhouse.engine.transport.CallerCredentials;
import dev.roundhouse.engine.transport.CallerUse;
import dev.roundhouse.engine.transport.ClientConnection;
import dev.roundhouse.engine.transport.ClientRefusedException;
import dev.roundhouse.engine.transport.ClientRefusedException.Reason;
import dev.roundhouse.engine.transport.ModelCatalogue;
import dev.roundhouse.engine.transport.TransportContext;
import dev.roundhouse.engine.transport.TransportSettings;
import dev.roundhouse.platform.access.Admitted;
import dev.roundhouse.platform.access.ApiCategory;
import dev.roundhouse.platform.access.ApiMethod;
import dev.roundhouse.platform.access.Credentials;
import dev.roundhouse.platform.text.ClientText;
import dev.roundhouse.transport.memory.ConnectionMemory;
import dev.roundhouse.worker.transport.Inference;
import io.grpc.Status;
import io.grpc.StatusException;
import java.net.SocketAddress;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** What one added transport is given. Thread-safe. */
final class WorkerContext implements TransportContext {
  private static final Logger log = LoggerFactory.getLogger(WorkerContext.class);

  /** Of a thread, a socket and their buffers, which the transport allocates. */
  private static final long CONNECTION_BYTES = 16 << 10;

  private final String name;
  private final AddedTransports.Services services;
  private final ModelCatalogue models;
  private final TransportSettings settings;
  private final TransportCounts counts = new TransportCounts();
  private final AnswerThread answers;
  private final Set<CountedConnection> connections = ConcurrentHashMap.newKeySet();
  private final AtomicBoolean ended = new AtomicBoolean();
  private volatile boolean draining;

  /**
   * @param loader of the transport's classes
   */
  WorkerContext(
      String name,
      AddedTransports.Services services,
      ModelCatalogue models,
      TransportSettings settings,
      ClassLoader loader) {
    this.name = name;
    this.services = services;
    this.models = models;
    this.settings = settings;
    answers = new AnswerThread(name, loader);
  }

  @Override
  public TransportSettings settings() {
    return settings;
  }

  @Override
  public ModelCatalogue models() {
    return models;
  }

  @Override
  public TransportCounts meters() {
    return counts;
  }

  @Override
  public ClientConnection connect(SocketAddress remote, Runnable relief)
      throws ClientRefusedException {
    if (draining) {
      throw exiting();
    }
    if (counts.connected() > services.maxConnections()) {
      counts.disconnected();
      throw new ClientRefusedException(
          Reason.NO_ROOM,
          "%s is %d, or there are file descriptors for no more; connect again later"
              .formatted(services.maxConnectionsKey(), services.maxConnections()));
    }
    ConnectionMemory memory =
        services.memory().open(remote, CONNECTION_BYTES, () -> relieve(relief));
    if (memory == null) {
      counts.disconnected();
      throw new ClientRefusedException(
          Reason.NO_ROOM,
          "the memory for connections is used up, or your address's part of it; connect again later");
    }
    CountedConnection connection = new CountedConnection(this, remote, memory);
    connections.add(connection);
    if (ended.get()) {
      connection.close(); // its end has come meanwhile, and may have missed this one
      throw exiting();
    }
    return connection;
  }

  private static ClientRefusedException exiting() {
    return new ClientRefusedException(Reason.UNAVAILABLE, "Server exiting");
  }

  /** Called by whichever transport needs memory. */
  private void relieve(Runnable relief) {
    answers.add(relief);
  }

  @Override
  public long nanoTime() {
    return services.inference().engine().nanoTime();
  }

  @Override
  public void fail(Throwable cause) {
    log.error("transport '{}' can serve no more, and so does the worker", name, cause);
    services.inference().engine().fail(cause);
  }

  @Nullable Admitted admit(CallerUse use, SocketAddress remote, CallerCredentials shown)
      throws ClientRefusedException {
    ApiCategory category =
        switch (use) {
          case INFERENCE -> ApiCategory.INFERENCE;
          case METADATA -> ApiCategory.METADATA;
          case HEALTH -> ApiCategory.HEALTH;
        };
    if (services.access().isFree(new ApiMethod(category, ApiMethod.Effect.READS))) {
      return null;
    }
    String token = shown.token();
    Credentials credentials =
        new Credentials(
            remote,
            null,
            shown.certificate(),
            token == null || token.isEmpty() ? null : "Bearer " + token,
            null);
    try {
      return services.access().admit(category, false, "transport '" + name + "'", credentials);
    } catch (StatusException e) {
      throw refusal(e.getStatus());
    }
  }

  private static ClientRefusedException refusal(Status status) {
    Reason reason =
        switch (status.getCode()) {
          case UNAUTHENTICATED -> Reason.UNAUTHENTICATED;
          case UNAVAILABLE -> Reason.UNAVAILABLE;
          default -> Reason.DENIED;
        };
    return new ClientRefusedException(reason, String.valueOf(status.getDescription()));
  }

  // --- for connections and the transport's ends

  AnswerThread answers() {
    return answers;
  }

  TransportCounts counts() {
    return counts;
  }

  /** A request begins; false when its end could not be told. */
  boolean begin() {
    if (!answers.begin()) {
      return false;
    }
    counts.begun();
    return true;
  }

  /** A request that began has ended. */
  void ended() {
    counts.ended();
    answers.ended();
  }

  /** That all clients together may make the worker keep. */
  long mostBytes() {
    return services.memory().limit();
  }

  ClientText texts() {
    return services.texts();
  }

  Inference inference() {
    return services.inference();
  }

  void closed(CountedConnection connection) {
    if (connections.remove(connection)) {
      counts.disconnected();
    }
  }

  void drain() {
    draining = true;
  }

  /** What the transport has left behind goes too. Harmless when repeated. */
  void end() {
    draining = true;
    if (ended.compareAndSet(false, true)) {
      connections.forEach(CountedConnection::close);
      answers.end();
    }
  }
}
