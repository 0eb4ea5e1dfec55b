package dev.roundhouse.worker.tee.learner;

import dev.roundhouse.kserve.tstream.HelloStatus;
import dev.roundhouse.platform.tstream.HelloRefusedException;
import dev.roundhouse.platform.tstream.StreamPeer;
import dev.roundhouse.platform.tstream.StreamPort;
import dev.roundhouse.worker.tee.NotTeedException;
import dev.roundhouse.worker.tee.Tee;
import dev.roundhouse.worker.tee.learner.LearnerLoad.End;
import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.socket.ChannelInputShutdownEvent;
import io.netty.util.concurrent.Future;
import java.io.IOException;
import java.util.concurrent.CompletionException;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One connection: its hello, which is refused or makes it a learner. Belongs to its event loop;
 * {@link #drain} and {@link #wake} may be called by any thread.
 */
final class LearnerConnection extends ChannelInboundHandlerAdapter implements StreamPeer {
  private static final Logger log = LoggerFactory.getLogger(LearnerConnection.class);
  private static final int RETRY_MILLIS = 1_000;
  private static final String STOPS = "the worker stops";

  /** For a learner to read why its connection ends. */
  private static final long ENDING_NANOS = TimeUnit.SECONDS.toNanos(5);

  private final LearnerServer server;
  private final Channel channel;

  // The rest is the event loop's.

  private @Nullable ByteBuf hello;
  private @Nullable Future<?> helloTimer;

  /** The model that is kept for it; null before its hello. */
  private @Nullable String model;

  private @Nullable OpenLearner open;

  /** Refused, ended or gone: what comes now is forgotten. */
  private boolean over;

  LearnerConnection(LearnerServer server, Channel channel) {
    this.server = server;
    this.channel = channel;
  }

  LearnerServer server() {
    return server;
  }

  Channel channel() {
    return channel;
  }

  @Override
  public void handlerAdded(ChannelHandlerContext context) {
    long nanos = server.settings().handshakeTimeout().toNanos();
    helloTimer = after(nanos, this::onNoHello);
  }

  @Override
  public void channelRead(ChannelHandlerContext context, Object message) {
    ByteBuf read = (ByteBuf) message;
    try {
      if (over) {
        return;
      }
      if (model == null) {
        readHello(read);
      }
      if (read.isReadable() && !over) {
        if (open == null) {
          refuse(HelloStatus.BAD_HELLO, "the hello is followed by more before it was answered");
        } else {
          open.read(read);
        }
      }
    } finally {
      read.release();
    }
  }

  private void readHello(ByteBuf read) {
    ByteBuf all = hello == null ? channel.alloc().buffer(LearnerHello.HEAD_BYTES * 4) : hello;
    hello = all;
    try {
      int length = LearnerHello.length(all);
      while (all.readableBytes() < length && read.isReadable()) {
        all.writeBytes(read, Math.min(read.readableBytes(), length - all.readableBytes()));
        length = LearnerHello.length(all);
      }
      if (all.readableBytes() == length && length > 0) {
        greet(LearnerHello.read(all));
      }
    } catch (HelloRefusedException e) {
      refuse(e.status(), String.valueOf(e.getMessage()));
    }
  }

  private void greet(LearnerHello said) throws HelloRefusedException {
    server.admit(said, channel.remoteAddress());
    if (!server.take(said.model())) {
      throw new HelloRefusedException(
          HelloStatus.OVERLOADED,
          "model '%s' has a learner already, and one is served at a time".formatted(said.model()));
    }
    model = said.model();
    forgetHello();
    var unused =
        server
            .tee()
            .open(said.model(), this::wake)
            .whenComplete((opened, failure) -> onOpened(said, opened, failure));
  }

  /** On any thread. */
  private void onOpened(
      LearnerHello said, Tee.@Nullable Opened opened, @Nullable Throwable failure) {
    boolean isHandedOver = false;
    try {
      isHandedOver = onLoop(() -> opened(said, opened, failure));
    } finally {
      if (!isHandedOver) {
        channel.close();
        if (opened != null) {
          opened.reader().close();
        }
      }
    }
  }

  private void opened(LearnerHello said, Tee.@Nullable Opened opened, @Nullable Throwable failure) {
    if (opened == null) {
      refuseUnopened(failure);
      return;
    }
    boolean isRead = false;
    try {
      isRead = begin(said, opened);
    } finally {
      if (!isRead) {
        opened.reader().close();
      }
    }
  }

  /** False when it does not read. */
  private boolean begin(LearnerHello said, Tee.Opened opened) {
    long digest = opened.spec().batch().digest();
    if (over) {
      return false;
    }
    if (said.digest() != 0 && said.digest() != digest) {
      refuse(
          HelloStatus.OTHER_SPEC,
          "the learner was built for a spec of digest %016x, and batches of model '%s' have %016x"
              .formatted(said.digest(), said.model(), digest));
      return false;
    }
    int window = server.settings().numBuffers() - 1;
    channel.write(LearnerFrames.reply(HelloStatus.OK, window, opened.spec(), ""));
    OpenLearner reading = new OpenLearner(this, opened.reader(), opened.spec(), window);
    open = reading;
    server.load().learns();
    reading.pump();
    channel.flush();
    log.info("a learner at {} reads model '{}'", channel.remoteAddress(), said.model());
    return true;
  }

  private void refuseUnopened(@Nullable Throwable failure) {
    Throwable cause = failure instanceof CompletionException ? failure.getCause() : failure;
    if (cause instanceof NotTeedException why) {
      refuse(
          why.isForGood() ? HelloStatus.NOT_FIXED : HelloStatus.NOT_READY,
          String.valueOf(why.getMessage()));
    } else {
      log.error("a learner could not be served", cause);
      refuse(HelloStatus.NOT_READY, "something is wrong in the server; see its log");
    }
  }

  private void forgetHello() {
    if (helloTimer != null) {
      helloTimer.cancel(false);
    }
    if (hello != null) {
      hello.release();
      hello = null;
    }
  }

  private void refuse(HelloStatus status, String why) {
    if (over) {
      return;
    }
    over = true;
    forgetHello();
    server.load().refused(status);
    String text = server.texts().of(why);
    log.debug("a learner at {} is refused: {}", channel.remoteAddress(), text);
    int window = status == HelloStatus.OVERLOADED ? RETRY_MILLIS : 0;
    endAfter(LearnerFrames.reply(status, window, null, text));
  }

  private void onNoHello() {
    if (model == null && !over) {
      server.load().ended(End.HANDSHAKE);
      refuse(
          HelloStatus.BAD_HELLO,
          "no whole hello has come within %d ms"
              .formatted(server.settings().handshakeTimeout().toMillis()));
    }
  }

  // --- ends

  /** Tells the learner why its connection ends. */
  void end(End why, String text) {
    if (!over) {
      server.load().ended(why);
      log.warn("the learner of model '{}' at {} ends: {}", model, channel.remoteAddress(), text);
      say(server.texts().of(text));
    }
  }

  private void say(String lastWords) {
    over = true;
    forgetHello();
    if (open != null) {
      open.stop();
    }
    endAfter(LearnerFrames.end(lastWords));
  }

  private void endAfter(ByteBuf told) {
    StreamPort.endAfter(channel, channel.writeAndFlush(told));
    // one that does not read must not keep what it has been sent
    var unused = after(ENDING_NANOS, channel::close);
  }

  /** The worker stops. Any thread. */
  @Override
  public void drain() {
    var unused = onLoop(this::onDrain);
  }

  private void onDrain() {
    if (over) {
      return;
    }
    if (open == null) {
      refuse(HelloStatus.NOT_READY, STOPS);
    } else {
      say(STOPS);
    }
  }

  /** It keeps nothing of what is counted for peers but itself. */
  @Override
  public void relieve() {}

  /** There may be another batch. Any thread. */
  void wake() {
    var unused =
        onLoop(
            () -> {
              if (open != null && !over) {
                open.pump();
                channel.flush();
              }
            });
  }

  /** False when the loop has ended, and the connection with it. */
  private boolean onLoop(Runnable task) {
    try {
      channel.eventLoop().execute(() -> guarded(task));
      return true;
    } catch (RejectedExecutionException stopped) {
      return false;
    }
  }

  /** Has a task run later, on the event loop. */
  Future<?> after(long nanos, Runnable task) {
    return channel.eventLoop().schedule(() -> guarded(task), nanos, TimeUnit.NANOSECONDS);
  }

  /** A connection on which something went wrong must not hang. */
  private void guarded(Runnable task) {
    try {
      task.run();
    } catch (RuntimeException | Error e) {
      onFailure(e);
    }
  }

  private void onFailure(Throwable cause) {
    try {
      server.load().ended(End.FAILED);
      log.warn("a learner's connection is closed, because something is wrong in the server", cause);
    } finally {
      channel.close();
    }
  }

  @Override
  public void userEventTriggered(ChannelHandlerContext context, Object event) {
    if (event instanceof ChannelInputShutdownEvent) {
      if (hello != null) {
        server.load().ended(End.HANDSHAKE);
      }
      channel.close();
    }
  }

  @Override
  public void channelInactive(ChannelHandlerContext context) {
    over = true;
    forgetHello();
    if (open != null) {
      open.stop();
      server.load().learnsNoMore();
    }
    if (model != null) {
      server.giveBack(model);
    }
  }

  @Override
  public void exceptionCaught(ChannelHandlerContext context, Throwable cause) {
    if (cause instanceof IOException) { // a learner which has gone
      channel.close();
    } else {
      onFailure(cause);
    }
  }
}
