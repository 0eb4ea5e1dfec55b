package dev.roundhouse.transport.forward;

import dev.roundhouse.transport.http2.Connection;
import dev.roundhouse.transport.http2.StalledPeer;
import dev.roundhouse.transport.http2.StreamHandler;
import dev.roundhouse.transport.io.StreamProgress;
import io.grpc.Metadata;
import io.grpc.Status;
import io.grpc.StatusException;
import io.netty.buffer.ByteBuf;
import io.netty.channel.EventLoop;
import io.netty.handler.codec.http2.Http2Error;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.handler.codec.http2.Http2Stream;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * A call that is sent on to another server, frame by frame, as its client sees it: large parts are
 * not copied, and a side may send more when the other has taken what it sent. {@link CallSender}
 * says who is asked, and asks another as long as nothing of an answer has been passed on and the
 * request is still here. On the event loop of the client's connection.
 */
final class ForwardedCall implements StreamHandler {
  private final Connection client;
  private final Http2Stream stream;
  private final MessageBounds bounds;
  private final ForwardingWindow requests;
  private final KeptRequest kept;
  private final boolean unaryRequest;
  private final StreamProgress progress = new StreamProgress();
  private final CallSender servers;
  private final ForwardedAnswer answer;
  private final long endNanos;
  private final @Nullable ScheduledFuture<?> alarm;

  /** All of the request has come. */
  private boolean whole;

  /** The server has ended the call, or is not asked any more; parts of its answer may be here. */
  private boolean over;

  /** The client's stream is closed. */
  private boolean closed;

  /**
   * @param timeoutNanos that the client waits; {@link Long#MAX_VALUE} for as long as it takes
   */
  ForwardedCall(
      Connection client,
      Http2Stream stream,
      String method,
      Http2Headers request,
      long timeoutNanos,
      GrpcForwarder forwarder) {
    this.client = client;
    this.stream = stream;
    EventLoop loop = client.context().channel().eventLoop();
    ForwardingBudget memory = forwarder.budget();
    unaryRequest = forwarder.router().unaryRequest(method);
    bounds = new MessageBounds(client.maxMessageBytes());
    requests =
        new ForwardingWindow(
            memory,
            client.memory(),
            bounds,
            client.windowBytes(),
            unaryRequest,
            new FromClient(),
            loop);
    kept = new KeptRequest(memory);
    servers = new CallSender(this, client, method, request, forwarder, kept);
    answer = new ForwardedAnswer(client, stream, memory, progress);
    endNanos = timeoutNanos == Long.MAX_VALUE ? timeoutNanos : System.nanoTime() + timeoutNanos;
    alarm =
        timeoutNanos == Long.MAX_VALUE
            ? null
            : loop.schedule(this::late, Math.max(0, timeoutNanos), TimeUnit.NANOSECONDS);
  }

  /** Time until the client's deadline; {@link Long#MAX_VALUE} without one. */
  long leftNanos() {
    return endNanos == Long.MAX_VALUE ? endNanos : endNanos - System.nanoTime();
  }

  /** True once all of the request has come. */
  boolean isWhole() {
    return whole;
  }

  /** True once something of an answer was passed on. */
  boolean isAnswered() {
    return answer.hasBegun();
  }

  /** True when nothing more is passed on. */
  boolean isOver() {
    return over;
  }

  // The request.

  @Override
  public int receive(ByteBuf data, int padding, boolean endOfStream) {
    int bytes = data.readableBytes() + padding;
    if (over) {
      return bytes;
    }
    client.steer(stream);
    whole |= endOfStream;
    int before = requests.messages();
    CallAttempt to = servers.asked();
    HeldPart part;
    try {
      part = requests.arrived(data, to == null);
    } catch (StatusException e) {
      end(e.getStatus());
      return bytes;
    }
    if (endOfStream) {
      requests.close();
    }
    progress.completed(requests.messages() - before);
    progress.arrived(data.readableBytes());
    if (to != null) {
      to.send(part, endOfStream);
    }
    kept.add(part, servers.asked() == null);
    if (endOfStream) {
      servers.whole();
    }
    if (to == null) {
      servers.choose();
    }
    return bytes;
  }

  @Override
  public void endOfStream() {
    if (over) {
      return;
    }
    whole = true;
    requests.close();
    CallAttempt to = servers.asked();
    if (to != null) {
      to.sendEnd();
    }
    servers.whole();
    if (to == null) {
      servers.choose();
    }
  }

  private final class FromClient implements ForwardingWindow.Window {
    @Override
    public int bytes() {
      return client.window(stream);
    }

    @Override
    public void open(int bytes) {
      client.openWindow(stream, bytes);
    }
  }

  /** What the server does not take is no fault of the client's. */
  @Override
  public boolean endIfArrivalStalled(long nowNanos, long timeoutNanos) {
    boolean awaited = bounds.isWithinMessage() || (unaryRequest && !whole);
    awaited &= !over && (servers.asked() == null || !requests.holdsUp());
    if (!progress.hasArrivalStalled(awaited, nowNanos, timeoutNanos)) {
      return false;
    }
    end(
        Status.DEADLINE_EXCEEDED.withDescription(
            "a message has stopped arriving: " + bounds.progress()));
    return true;
  }

  @Override
  public boolean endIfDepartureStalled(long nowNanos, long timeoutNanos) {
    if (closed) {
      return false;
    }
    long sent = client.sentLessCredit(stream);
    if (!progress.hasDepartureStalled(sent, nowNanos, timeoutNanos)) {
      return false;
    }
    giveUp(Status.CANCELLED.withDescription("the client does not read the answer"));
    client.reset(stream, Http2Error.ENHANCE_YOUR_CALM);
    return true;
  }

  /** Of a stream whose messages have all been answered, or that has had none. */
  @Override
  public boolean endIfIdle(long nowNanos, long timeoutNanos) {
    boolean busy =
        over || whole || bounds.isWithinMessage() || requests.messages() > answer.messages();
    if (!progress.isIdle(busy, nowNanos, timeoutNanos)) {
      return false;
    }
    end(StalledPeer.idle(timeoutNanos));
    return true;
  }

  @Override
  public void allowed(int bytes) {
    progress.allowed(bytes);
  }

  // The answer.

  /**
   * Passes on part of an answer.
   *
   * @param data borrowed
   * @param last whether the server sends no more of it
   */
  void pass(UpstreamConnection.Exchange from, ByteBuf data, boolean last) {
    HeldPart part;
    try {
      part = answer.arrived(from, data, last);
    } catch (StatusException e) {
      end(e.getStatus());
      return;
    }
    passBegin();
    answer.write(part);
  }

  /** Passes on how the server has ended the call. */
  void passEnd(Status status, Http2Headers trailers) {
    passBegin();
    finish(status);
    answer.end(trailers);
  }

  private void passBegin() {
    Http2Headers first = servers.takeBegin();
    if (first != null) {
      kept.forget();
      answer.begin(first);
    }
  }

  // How it ends.

  /** The client's deadline has passed. */
  void late() {
    Status status = Status.DEADLINE_EXCEEDED.withDescription("the call's deadline has passed");
    if (closed || !progress.isLeaving()) {
      end(status);
    } else {
      giveUp(status);
      client.reset(stream, Http2Error.CANCEL); // the client has given up too
    }
  }

  /** Ends the call in the place of a server. */
  void end(Status status) {
    if (!over) {
      giveUp(status);
      answer.end(client.headers().end(status, new Metadata(), !answer.hasBegun()));
    }
  }

  /** Asks the server no more. */
  private void giveUp(Status status) {
    if (!over) {
      finish(status);
    }
    servers.leave();
  }

  @Override
  public void streamClosed() {
    closed = true;
    if (alarm != null) {
      alarm.cancel(false);
    }
    giveUp(Status.CANCELLED.withDescription("the client has ended the call"));
  }

  private void finish(Status status) {
    over = true;
    kept.forget();
    requests.close();
    answer.close();
    servers.ended(status);
  }
}
