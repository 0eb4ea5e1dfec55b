package dev.roundhouse.transport.http2;

import io.grpc.Decompressor;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import io.grpc.StatusException;
import io.grpc.StatusRuntimeException;
import io.netty.buffer.ByteBuf;
import java.util.ArrayDeque;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The messages of a call's request: assembles and decompresses them, and hands over as many as were
 * requested. The rest waits, and little more is accepted meanwhile. On the connection's event loop,
 * except where noted.
 */
final class RequestMessages<Q> {
  private static final Logger log = LoggerFactory.getLogger(RequestMessages.class);

  /** Decompressed directly on the event loop; the rest is done in turns elsewhere. */
  private static final int INFLATED_AT_ONCE = 1 << 14;

  /** One turn of decompression: about a millisecond. */
  private static final int INFLATED_IN_TURN = 1 << 19;

  private final ServerStream stream;
  private final MethodDescriptor<Q, ?> method;
  private final @Nullable Decompressor decompressor;
  private final ServiceListener<Q> service;
  private final Owner owner;
  private final MessageAssembly assembly;
  private @Nullable ArrayDeque<Waiting> backlog;

  /** The only message of the request, already handed to the service. */
  private @Nullable ReceivedMessage single;

  private long requested;
  private int handed;

  /** A message is being decompressed; those behind it wait. */
  private boolean inflating;

  /** The service knows that there are no more. */
  private boolean endHanded;

  /** The call. On the event loop except where noted. */
  interface Owner {
    /** The request is invalid, or the service does not want it. */
    void end(Status status);

    /** The service or this transport has failed. */
    void failed(Throwable cause);

    /** True when the messages are no longer wanted. Any thread. */
    boolean isCancelled();
  }

  /** A message that has not been requested yet. */
  private record Waiting(ReceivedMessage message, boolean compressed) {}

  RequestMessages(
      ServerStream stream,
      MethodDescriptor<Q, ?> method,
      @Nullable Decompressor decompressor,
      ServiceListener<Q> service,
      Owner owner) {
    this.stream = stream;
    this.method = method;
    this.decompressor = decompressor;
    this.service = service;
    this.owner = owner;
    Connection connection = stream.connection();
    assembly =
        new MessageAssembly(
            connection.allocator(), connection.messages(), connection.maxMessageBytes());
  }

  /**
   * Takes data.
   *
   * @return false when messages wait
   */
  boolean received(ByteBuf data, boolean endOfStream) {
    try {
      for (ReceivedMessage message = assembly.next(data);
          message != null;
          message = assembly.next(data)) {
        stream.completed(1);
        offer(message, assembly.isCompressed());
        if (stream.isEnded()) {
          return true;
        }
      }
      if (single != null && !endOfStream) {
        keep(single);
      }
    } catch (StatusException e) {
      owner.end(e.getStatus());
      return true;
    }
    if (endOfStream) {
      endOfStream();
    }
    return !isBehind();
  }

  /** Nothing more comes. */
  void endOfStream() {
    if (assembly.isWithinMessage()) {
      owner.end(Status.INTERNAL.withDescription("Encountered end-of-stream mid-frame"));
    } else {
      deliver();
    }
  }

  /** Requests this many more messages. Any thread. */
  void request(int count) {
    Connection connection = stream.connection();
    if (!connection.inEventLoop()) {
      connection.later(
          () -> {
            requested += count;
            deliver();
          });
      return;
    }
    requested += count;
    if (backlog != null && !backlog.isEmpty()) {
      connection.later(this::deliver); // the service may be in the middle of something
    }
  }

  /** How many messages were handed over. */
  int handed() {
    return handed;
  }

  /** True when messages wait: what arrives is then not counted as read, so little more comes. */
  private boolean isBehind() {
    return inflating || (backlog != null && !backlog.isEmpty());
  }

  /** True when there are messages, or part of one. */
  boolean isHolding() {
    return isBehind() || assembly.isWithinMessage();
  }

  /** True when the client has yet to send the rest of a message, or of the only one. */
  boolean awaitsClient() {
    boolean isIncomplete =
        method.getType().clientSendsOneMessage() && stream.state() == ServerStream.State.OPEN;
    return !inflating && (isIncomplete || assembly.isWithinMessage());
  }

  /** How much of a message has arrived, as text. */
  String progress() {
    return assembly.progress();
  }

  private static void keep(ReceivedMessage message) throws StatusException {
    String refusal = message.keep();
    if (refusal != null) {
      throw Status.RESOURCE_EXHAUSTED.withDescription(refusal).asException();
    }
  }

  private void offer(ReceivedMessage message, boolean compressed) throws StatusException {
    if (requested > 0 && !isBehind()) {
      requested--;
      take(message, compressed);
      return;
    }
    if (backlog == null) {
      backlog = new ArrayDeque<>(2);
    }
    backlog.add(new Waiting(message, compressed));
    keep(message);
  }

  /** Hands over what was requested. */
  void deliver() {
    if (inflating) {
      return;
    }
    if (backlog != null) {
      while (requested > 0 && !backlog.isEmpty() && !stream.isEnded() && !inflating) {
        requested--;
        Waiting waiting = backlog.remove();
        take(waiting.message(), waiting.compressed());
      }
      if (isBehind()) {
        return;
      }
    }
    if (stream.state() == ServerStream.State.HALF_CLOSED_REMOTE && !endHanded) {
      endHanded = true;
      if (single != null) {
        single.letGo(); // the service counts what it takes; it must not be counted twice
      }
      try {
        service.halfClose();
      } catch (Throwable e) {
        owner.failed(e);
      } finally {
        releaseSingle();
      }
    }
    stream.readOn();
  }

  private void take(ReceivedMessage message, boolean compressed) {
    if (compressed) {
      inflate(message);
    } else {
      hand(message);
    }
  }

  private void hand(ReceivedMessage message) {
    handed++;
    try {
      service.message(message);
    } catch (StatusRuntimeException e) {
      owner.end(e.getStatus());
    } catch (Throwable e) {
      owner.failed(e);
    } finally {
      if (method.getType().clientSendsOneMessage() && single == null && !stream.isEnded()) {
        single = message; // the service acts on it once it knows that there is no other
      } else {
        drop(message);
      }
    }
  }

  /** Decompresses small messages here, the rest of large ones elsewhere, in turns. */
  private void inflate(ReceivedMessage message) {
    if (decompressor == null) {
      drop(message);
      owner.end(
          Status.INTERNAL.withDescription(
              "Can't decode compressed gRPC message as compression not configured"));
      return;
    }
    Connection connection = stream.connection();
    Inflation inflation =
        new Inflation(
            message,
            decompressor,
            connection.memory(),
            connection.allocator(),
            connection.maxMessageBytes());
    try {
      keep(message);
      if (inflation.step(INFLATED_AT_ONCE)) {
        hand(inflation.finish());
        return;
      }
      inflating = true;
      if (!connection.inflate(() -> inflateInTurn(inflation))) {
        throw Status.UNAVAILABLE.withDescription("Server exiting").asException();
      }
    } catch (StatusException e) {
      inflation.close();
      owner.end(e.getStatus());
    } catch (Throwable e) {
      inflation.close();
      owner.failed(e);
    }
  }

  /** On a decompression thread. */
  private boolean inflateInTurn(Inflation inflation) {
    Connection connection = stream.connection();
    Status failure = null;
    try {
      if (!owner.isCancelled() && !inflation.step(INFLATED_IN_TURN)) {
        return false;
      }
      if (!owner.isCancelled()) {
        ReceivedMessage whole = inflation.finish();
        if (!connection.later(() -> inflated(whole))) {
          drop(whole);
        }
        return true;
      }
    } catch (StatusException e) {
      failure = e.getStatus();
    } catch (Throwable e) {
      log.error("a message of {} could not be uncompressed", method.getFullMethodName(), e);
      failure = Status.INTERNAL.withDescription("the message could not be uncompressed");
    }
    inflation.close();
    Status why = failure;
    if (why != null) {
      connection.later(() -> owner.end(why));
    }
    return true;
  }

  private void inflated(ReceivedMessage message) {
    inflating = false;
    if (stream.isEnded()) {
      drop(message);
      return;
    }
    hand(message); // counted until released, as decompressed
    deliver();
  }

  /** Releases all messages, which are no longer wanted. */
  void close() {
    assembly.close();
    releaseSingle();
    if (backlog != null) {
      backlog.forEach(waiting -> drop(waiting.message()));
      backlog.clear();
    }
  }

  private void releaseSingle() {
    ReceivedMessage message = single;
    if (message != null) {
      single = null;
      drop(message);
    }
  }

  private static void drop(ReceivedMessage message) {
    message.letGo();
    message.release();
  }
}
