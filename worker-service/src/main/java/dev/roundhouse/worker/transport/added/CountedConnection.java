package dev.roundhouse.worker.transport.added;

import dev.roundhouse.engine.request.AnswerSink;
import dev.roundhouse.engine.request.InputTensor;
import dev.roundhouse.engine.request.Submission;
import dev.roundhouse.engine.transport.Caller;
import dev.roundhouse.engine.transport.CallerCredentials;
import dev.roundhouse.engine.transport.CallerUse;
import dev.roundhouse.engine.transport.ClientConnection;
import dev.roundhouse.engine.transport.ClientRefusedException;
import dev.roundhouse.engine.transport.ClientRefusedException.Reason;
import dev.roundhouse.engine.transport.TransportRequest;
import dev.roundhouse.kserve.status.WireException;
import dev.roundhouse.kserve.status.WireStatus;
import dev.roundhouse.platform.access.Admitted;
import dev.roundhouse.transport.memory.ConnectionMemory;
import dev.roundhouse.transport.memory.Kept;
import dev.roundhouse.worker.transport.Inference;
import java.net.SocketAddress;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/** A connection of an added transport's client. Thread-safe. */
final class CountedConnection implements ClientConnection {
  private final WorkerContext context;
  private final SocketAddress remote;
  private final ConnectionMemory memory;
  private final Set<HandedAnswer> open = ConcurrentHashMap.newKeySet();
  private long taken; // guarded by this
  private volatile boolean closed;

  CountedConnection(WorkerContext context, SocketAddress remote, ConnectionMemory memory) {
    this.context = context;
    this.remote = remote;
    this.memory = memory;
  }

  @Override
  public Caller admit(CallerUse use, CallerCredentials shown) throws ClientRefusedException {
    return new AdmittedCaller(this, use, context.admit(use, remote, shown));
  }

  @Override
  public Submission submit(Caller caller, TransportRequest request, AnswerSink sink)
      throws ClientRefusedException {
    if (!(caller instanceof AdmittedCaller admitted)
        || admitted.by() != this
        || admitted.use() != CallerUse.INFERENCE) {
      throw new IllegalArgumentException(
          "the caller was not admitted for INFERENCE by this connection");
    }
    admit(admitted.rights(), request);
    HandedAnswer answer = new HandedAnswer(this, sink, context.answers(), context.texts());
    if (!context.begin()) {
      throw closed();
    }
    open.add(answer);
    if (closed) {
      ended(answer);
      throw closed();
    }
    Inference inference = context.inference();
    boolean submitted = false;
    try {
      Submission made =
          inference
              .engine()
              .submit(inference.request(request, memory.peerNumber(), admitted.rights(), answer));
      submitted = true;
      answer.submitted(made);
      if (closed) {
        made.cancel();
      }
      return made;
    } finally {
      if (!submitted) {
        ended(answer);
      }
    }
  }

  private static void admit(@Nullable Admitted rights, TransportRequest request)
      throws ClientRefusedException {
    if (rights == null) {
      return;
    }
    long bytes = 0;
    for (InputTensor input : request.inputs()) {
      bytes += input.data().byteSize();
    }
    try {
      Inference.admit(rights, request.model(), bytes);
    } catch (WireException e) {
      throw new ClientRefusedException(
          e.status() == WireStatus.RESOURCE_EXHAUSTED ? Reason.QUOTA : Reason.DENIED,
          String.valueOf(e.getMessage()));
    }
  }

  void ended(HandedAnswer answer) {
    if (open.remove(answer)) {
      context.ended();
    }
  }

  private static ClientRefusedException closed() {
    return new ClientRefusedException(Reason.UNAVAILABLE, "the connection is closed");
  }

  @Override
  public synchronized void take(long bytes) throws ClientRefusedException {
    if (bytes < 0) {
      throw new IllegalArgumentException(bytes + " bytes cannot be taken");
    }
    if (closed) {
      throw closed();
    }
    long most = context.mostBytes();
    if (bytes > most) { // or adding it up would overflow
      throw new ClientRefusedException(
          Reason.NO_ROOM,
          "%d bytes are wanted at once, and all clients together may hold %d; send less per request"
              .formatted(bytes, most));
    }
    String refusal = memory.take(Kept.MESSAGE, bytes);
    if (refusal != null) {
      throw new ClientRefusedException(Reason.NO_ROOM, refusal);
    }
    taken += bytes;
  }

  @Override
  public synchronized void giveBack(long bytes) {
    if (closed) {
      return; // all of it is given back
    }
    if (bytes < 0) {
      throw new IllegalArgumentException(bytes + " bytes cannot be given back");
    }
    if (bytes > taken) {
      throw new IllegalStateException(
          "%d bytes are given back, and %d are taken".formatted(bytes, taken));
    }
    taken -= bytes;
    memory.giveBack(Kept.MESSAGE, bytes);
  }

  @Override
  public void close() {
    synchronized (this) {
      if (closed) {
        return;
      }
      closed = true;
      memory.giveBack(Kept.MESSAGE, taken);
      taken = 0;
      memory.close();
    }
    open.forEach(HandedAnswer::cancel);
    context.closed(this);
  }
}
