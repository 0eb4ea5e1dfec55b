package dev.roundhouse.transport.forward;

import dev.roundhouse.transport.access.CallerRights;
import dev.roundhouse.transport.forward.CallRouter.Route;
import dev.roundhouse.transport.http1.StreamedRequest;
import dev.roundhouse.transport.http1.StreamedRequestHandler;
import io.grpc.Status;
import io.grpc.StatusException;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.handler.codec.http.HttpResponse;
import io.netty.handler.codec.http.HttpUtil;
import java.util.ArrayDeque;
import java.util.Objects;
import java.util.Queue;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The client's side of a forwarded HTTP request. The beginning of its body is kept for the {@link
 * HttpRouter}; the rest, and the answer, pass through. Each side is read as fast as the other takes
 * what it sent. For one event loop.
 */
final class ForwardedRequest implements StreamedRequestHandler {
  private static final Logger log = LoggerFactory.getLogger(ForwardedRequest.class);

  /**
   * Parts up to this size are copied: a slice would hold the whole 64 KiB read buffer until the
   * other side takes it.
   */
  private static final int MOST_COPIED_BYTES = 15 << 10;

  private final HttpForwarding settings;
  private final HttpConnections connections;
  private final HttpRouter router;

  /** Unsent parts of the body after the kept beginning. */
  private final Queue<ByteBuf> waiting = new ArrayDeque<>(2);

  private @Nullable StreamedRequest client;
  private @Nullable PassingMemory memory;
  private @Nullable KeptBody kept;
  private @Nullable HttpSender sender;
  private final Copying copying = new Copying();
  private long arrived;

  /** The whole request has arrived. */
  private boolean isWhole;

  /** Part of the body was sent and is no longer held. */
  private boolean isSpent;

  /** How the request has ended, by the answer; null before there is one. */
  private @Nullable Status answered;

  private boolean over;

  ForwardedRequest(HttpForwarding settings, HttpConnections connections, HttpRouter router) {
    this.settings = settings;
    this.connections = connections;
    this.router = router;
  }

  private StreamedRequest client() {
    return Objects.requireNonNull(client, "not begun");
  }

  private PassingMemory memory() {
    return Objects.requireNonNull(memory, "not begun");
  }

  KeptBody kept() {
    return Objects.requireNonNull(kept, "not begun");
  }

  // The request.

  @Override
  public void begin(StreamedRequest request) {
    client = request;
    long length = request.length();
    PassingMemory taken = new PassingMemory(settings.memory(), request.memory());
    memory = taken;
    if (length > settings.maxBodyBytes()) {
      end(tooLarge(length + " bytes"));
      return;
    }
    int most = router.keptBytes();
    boolean goesOn = length < 0 || length > most;
    String refusal = taken.take(KeptBody.bytesOf(length, most), goesOn);
    if (refusal != null) {
      end(Status.RESOURCE_EXHAUSTED.withDescription(refusal));
      return;
    }
    kept = new KeptBody(length, most);
    sender = new HttpSender(this, request, settings, connections, router);
  }

  private Status tooLarge(String size) {
    return Status.INVALID_ARGUMENT.withDescription(
        "the request's body has %s, the limit is %d; %s"
            .formatted(size, settings.maxBodyBytes(), settings.remedy()));
  }

  @Override
  public void body(ByteBuf data, boolean last) {
    if (over) {
      data.release();
      return;
    }
    arrived += data.readableBytes();
    CallerRights caller = router.caller();
    if (caller != null) {
      caller.arrived(data.readableBytes());
    }
    isWhole = last;
    HttpSender to = sender();
    if (arrived > settings.maxBodyBytes()) {
      data.release();
      giveUp(Status.CANCELLED, tooLarge("more"));
    } else if (to.asked() != null) {
      copying.request(data);
      if (last) {
        copying.requestEnd();
      }
      wait(data);
      sendOn(to.asked());
    } else {
      kept().add(data, last);
      wait(data);
      if (last || kept().isFull()) {
        guarded(this::choose);
      }
    }
  }

  private HttpSender sender() {
    return Objects.requireNonNull(sender, "refused");
  }

  private void wait(ByteBuf data) {
    if (data.isReadable()) {
      waiting.add(data);
    } else {
      data.release();
    }
  }

  private void choose() {
    try {
      Route route = router.route(client().head().headers(), kept().begin());
      beginCopy(route);
      sender().begin(route);
    } catch (StatusException e) {
      end(e.getStatus());
    }
  }

  private void beginCopy(Route route) {
    copying.begin(router.copy(route, client().head().headers()));
    if (copying.isOn()) {
      copying.request(kept().data());
      waiting.forEach(copying::request);
      if (isWhole) {
        copying.requestEnd();
      }
    }
  }

  /** Sends what has arrived of the body, after its head. */
  void sendTo(HttpUpstream to) {
    if (kept().isWhole()) {
      to.send(kept().data(), true);
      return;
    }
    isSpent = true;
    to.send(kept().data(), false);
    sendWaiting(to);
    pace();
  }

  private void sendOn(@Nullable HttpAttempt to) {
    HttpUpstream by = to == null || !to.isBegun() ? null : to.upstream();
    if (by != null) {
      sendWaiting(by);
    } else if (isSpent) {
      drop(); // its server is gone
    }
    pace();
  }

  private void sendWaiting(HttpUpstream to) {
    for (ByteBuf part = waiting.poll(); part != null; part = waiting.poll()) {
      to.send(small(part), isWhole && waiting.isEmpty());
      if (isWhole && waiting.isEmpty()) {
        return;
      }
    }
    if (isWhole) {
      to.send(Unpooled.EMPTY_BUFFER, true);
    }
  }

  /** A copy, unless the part holds little more than its size. */
  private static ByteBuf small(ByteBuf part) {
    if (part.readableBytes() > MOST_COPIED_BYTES) {
      return part;
    }
    try {
      return part.copy();
    } finally {
      part.release();
    }
  }

  /** Reads the client as fast as the server takes what it sends. */
  void pace() {
    HttpAttempt to = over || kept().isWhole() ? null : sender().asked();
    if (to != null) {
      boolean may = to.isWritable();
      memory().bodyIsHeldUp(!may && !isWhole);
      client().read(may);
    }
  }

  /** False when the request cannot be resent: part of it has been discarded. */
  boolean canBeSent() {
    return !over && !isSpent;
  }

  // The answer.

  void answer(Status status, HttpResponse head) {
    answered = status;
    copying.answerHead(head.status().code(), head.headers());
    long length =
        HttpUtil.isTransferEncodingChunked(head) ? -1 : HttpUtil.getContentLength(head, -1L);
    client()
        .answer(
            head.status().code(), length, HttpHeads.passedOn(head.headers(), settings.headers()));
    paceAnswer();
  }

  /**
   * @param data owned by this
   */
  void pass(ByteBuf data) {
    if (over) {
      data.release();
      return;
    }
    copying.answer(data);
    boolean large = data.readableBytes() > MOST_COPIED_BYTES;
    client().write(small(data));
    if (large) {
      client().flush(); // the client takes it while the next part arrives
    }
    paceAnswer();
  }

  void flush() {
    if (!over && answered != null) {
      client().flush();
    }
  }

  private void paceAnswer() {
    HttpAttempt by = sender().asked();
    if (by != null) {
      boolean may = client().isWritable();
      memory().answerIsHeldUp(!may);
      by.read(may);
    }
  }

  @Override
  public void writableChanged() {
    if (!over && answered != null) {
      paceAnswer();
    }
  }

  /** The whole answer has arrived. */
  void passEnd() {
    Status status = answered;
    if (!over && status != null) {
      over = true;
      copying.end(status.isOk());
      drop();
      sender().ended(status);
      client().end(memory()::close);
    }
  }

  // How it ends.

  /** Runs a task that may fail unexpectedly. */
  void guarded(Runnable task) {
    try {
      task.run();
    } catch (Throwable e) { // an Error too: the client would wait forever
      log.error("a request cannot be sent on", e);
      Status failed =
          Status.INTERNAL.withDescription("Internal server error; see the server's log");
      giveUp(failed, failed);
    }
  }

  /** Ends the request in place of a server. */
  void end(Status status) {
    giveUp(status, status);
  }

  /**
   * @param ended status for the route
   * @param told status for the client, unless it has already been answered
   */
  private void giveUp(Status ended, Status told) {
    if (over) {
      return;
    }
    finish(ended);
    if (answered != null) {
      client().flush();
      client().abort();
      return;
    }
    String text = told.getDescription();
    client()
        .refuse(
            settings.code().applyAsInt(told.getCode()),
            text == null ? told.getCode().name() : text,
            router.refusalHeaders(told));
  }

  @Override
  public void gone() {
    if (!over) {
      finish(Status.CANCELLED.withDescription("the client has gone"));
    }
  }

  private void finish(Status status) {
    over = true;
    copying.end(false);
    drop();
    HttpSender to = sender;
    if (to != null) {
      to.ended(status);
      to.leave();
    }
    memory().close();
  }

  private void drop() {
    while (!waiting.isEmpty()) {
      waiting.remove().release();
    }
  }
}
