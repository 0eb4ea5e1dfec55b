package dev.roundhouse.transport.forward;

import dev.roundhouse.transport.access.CallerRights;
import dev.roundhouse.transport.http2.ServerStream;
import dev.roundhouse.transport.http2.StreamListener;
import io.grpc.Metadata;
import io.grpc.Status;
import io.grpc.StatusException;
import io.netty.buffer.ByteBuf;
import io.netty.channel.EventLoop;
import io.netty.handler.codec.http2.Http2Headers;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * The client's side of a call forwarded frame by frame: large parts are not copied, and a side may
 * send more when the other has taken what it sent. {@link CallSender} chooses the server, and may
 * choose another until part of an answer has been passed on or part of the request discarded. On
 * the event loop of the client's connection.
 */
final class ForwardedCall implements StreamListener, ForwardingWindow.Window {
  private final ServerStream stream;
  private final @Nullable CallerRights caller;
  private final MessageBounds bounds;
  private final ForwardingWindow requests;
  private final KeptRequest kept;
  private final boolean unaryRequest;
  private final CallSender servers;
  private final ForwardedAnswer answer;
  private final CallRouter router;
  private final String method;
  private final Copying copying = new Copying();
  private final long endNanos;
  private final @Nullable ScheduledFuture<?> alarm;

  /**
   * @param caller what the call's caller may do; null when nothing is checked
   * @param timeoutNanos that the client waits; {@link Long#MAX_VALUE} for no limit
   */
  ForwardedCall(
      ServerStream stream,
      String method,
      Http2Headers request,
      @Nullable CallerRights caller,
      long timeoutNanos,
      GrpcForwarder forwarder) {
    this.stream = stream;
    this.caller = caller;
    EventLoop loop = stream.eventLoop();
    ForwardingBudget memory = forwarder.budget();
    router = forwarder.router();
    this.method = method;
    unaryRequest = router.unaryRequest(method);
    bounds = new MessageBounds(stream.maxMessageBytes());
    requests =
        new ForwardingWindow(
            memory, stream.memory(), bounds, stream.windowBytes(), unaryRequest, this, loop);
    kept = new KeptRequest(memory);
    servers = new CallSender(this, stream, method, request, caller, forwarder, kept);
    answer = new ForwardedAnswer(stream, memory);
    endNanos = timeoutNanos == Long.MAX_VALUE ? timeoutNanos : System.nanoTime() + timeoutNanos;
    alarm =
        timeoutNanos == Long.MAX_VALUE
            ? null
            : loop.schedule(stream::endLate, Math.max(0, timeoutNanos), TimeUnit.NANOSECONDS);
  }

  /** Time until the client's deadline; {@link Long#MAX_VALUE} without one. */
  long leftNanos() {
    return endNanos == Long.MAX_VALUE ? endNanos : endNanos - System.nanoTime();
  }

  /** True once the whole request has arrived. */
  boolean isWhole() {
    return stream.state() != ServerStream.State.OPEN;
  }

  // The request.

  @Override
  public boolean received(ByteBuf data, boolean endOfStream) {
    stream.steer();
    int before = requests.messages();
    CallAttempt to = servers.asked();
    ForwardedChunk part;
    try {
      part = requests.arrived(data, to == null);
    } catch (StatusException e) {
      end(e.getStatus());
      return true;
    }
    if (endOfStream) {
      requests.close();
    }
    stream.completed(requests.messages() - before);
    if (caller != null) {
      caller.arrived(part.data().readableBytes());
    }
    if (to != null) {
      copying.request(part.data());
      to.send(part, endOfStream);
    }
    kept.add(part, servers.asked() == null);
    if (endOfStream) {
      servers.whole();
    }
    if (to == null) {
      choose();
    }
    if (endOfStream) {
      copying.requestEnd();
    }
    return true;
  }

  private void choose() {
    servers.choose();
    CallAttempt chosen = servers.asked();
    if (chosen != null && copying.isToBegin()) {
      copying.begin(kept.canBeSent() ? router.copy(method, chosen.route()) : null);
      if (copying.isOn()) {
        copying.request(kept.data());
      }
    }
  }

  @Override
  public void endOfStream() {
    requests.close();
    CallAttempt to = servers.asked();
    if (to != null) {
      to.sendEnd();
    }
    servers.whole();
    if (to == null) {
      choose();
    }
    copying.requestEnd();
  }

  /** What the client may send. */
  @Override
  public int bytes() {
    return stream.window();
  }

  @Override
  public void open(int bytes) {
    stream.openWindow(bytes);
  }

  /** A client is not to blame for what the server does not take. */
  @Override
  public boolean awaitsClient() {
    boolean isIncomplete = bounds.isWithinMessage() || (unaryRequest && !isWhole());
    return isIncomplete && (servers.asked() == null || !requests.holdsUp());
  }

  @Override
  public String progress() {
    return bounds.progress();
  }

  /** False when all messages have been answered, or none has arrived. */
  @Override
  public boolean isBusy() {
    return bounds.isWithinMessage() || requests.messages() > answer.messages();
  }

  // The answer.

  /**
   * Passes on part of an answer.
   *
   * @param data borrowed
   * @param last whether the server sends no more of it
   */
  void pass(UpstreamStream from, ByteBuf data, boolean last) {
    copying.answer(data);
    ForwardedChunk part;
    try {
      part = answer.arrived(from, data, last);
    } catch (StatusException e) {
      end(e.getStatus());
      return;
    }
    passBegin();
    answer.write(part);
  }

  /** Passes on the server's end of the call. */
  void passEnd(Status status, Http2Headers trailers) {
    passBegin();
    copying.end(status.isOk());
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

  @Override
  public void end(Status status) {
    if (!stream.isEnded()) {
      givenUp(status);
      answer.end(stream.headers().end(status, new Metadata(), !stream.isAnswered()));
    }
  }

  /** Leaves the server. */
  @Override
  public void givenUp(Status status) {
    finish(status);
    servers.leave();
  }

  @Override
  public void ended(boolean sent) {
    stream.stopSending();
  }

  @Override
  public void closed(boolean ends) {
    if (alarm != null) {
      alarm.cancel(false);
    }
    givenUp(Status.CANCELLED.withDescription("the client has ended the call"));
  }

  /** Passes nothing more on; no effect the second time. */
  private void finish(Status status) {
    copying.end(false);
    kept.forget();
    requests.close();
    answer.close();
    servers.ended(status);
  }
}
