package dev.roundhouse.worker.tee.learner;

import dev.roundhouse.kserve.tstream.HelloStatus;
import dev.roundhouse.transport.io.StagedClose;
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
final class LearnerConnection extends ChannelInboundHandlerAdapter {
  private static final Logger log = LoggerFactory.getLogger(LearnerConnection.class);
  private static final int RETRY_MILLIS = 1_000;
  private static final long ENDING_BYTES = 1 << 20;
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
    helloTimer = channel.eventLoop().schedule(this::onNoHello, nanos, TimeUnit.NANOSECONDS);
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
    } catch (LearnerRefusedException e) {
      refuse(e.status(), String.valueOf(e.getMessage()));
    }
  }

  private void greet(LearnerHello said) throws LearnerRefusedException {
    server.admit(said, channel.remoteAddress());
    if (!server.take(said.model())) {
      throw new LearnerRefusedException(
          HelloStatus.OVERLOADED,
          "model '%s' has a learner already, and one is served at a time".formatted(said.model()));
    }
    model = said.model();
    forgetHello();
    var unused =
        server
            .tee()
            .open(said.model(), this::wake)
            .whenComplete((opened, failure) -> onLoop(() -> opened(said, opened, failure)));
  }

  private void opened(LearnerHello said, Tee.@Nullable Opened opened, @Nullable Throwable failure) {
    if (opened == null) {
      refuseUnopened(failure);
      return;
    }
    long digest = opened.spec().batch().digest();
    if (over) {
      opened.reader().close();
    } else if (said.digest() != 0 && said.digest() != digest) {
      opened.reader().close();
      refuse(
          HelloStatus.OTHER_SPEC,
          "the learner was built for a spec of digest %016x, and batches of model '%s' have %016x"
              .formatted(said.digest(), said.model(), digest));
    } else {
      int window = server.settings().numBuffers() - 1;
      channel.write(LearnerFrames.reply(HelloStatus.OK, window, opened.spec(), ""));
      open = new OpenLearner(this, opened.reader(), opened.spec(), window);
      server.load().learns();
      open.pump();
      channel.flush();
      log.info("a learner at {} reads model '{}'", channel.remoteAddress(), said.model());
    }
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
    channel
        .writeAndFlush(told)
        .addListener(sent -> StagedClose.begin(channel, ENDING_BYTES, ENDING_NANOS));
    // one that does not read must not keep what it has been sent
    var unused =
        channel.eventLoop().schedule(() -> channel.close(), ENDING_NANOS, TimeUnit.NANOSECONDS);
  }

  /** The worker stops. Any thread. */
  void drain() {
    onLoop(
        () -> {
          if (!over) {
            say("the worker stops");
          }
        });
  }

  /** There may be another batch. Any thread. */
  void wake() {
    onLoop(
        () -> {
          if (open != null && !over) {
            open.pump();
            channel.flush();
          }
        });
  }

  private void onLoop(Runnable task) {
    try {
      channel.eventLoop().execute(task);
    } catch (RejectedExecutionException stopped) {
      // the connection is gone with its loop
    }
  }

  @Override
  public void userEventTriggered(ChannelHandlerContext context, Object event) {
    if (event instanceof ChannelInputShutdownEvent) {
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
    if (!(cause instanceof IOException)) { // that is a learner which has gone
      server.load().ended(End.FAILED);
      log.warn("a learner's connection is closed, because something is wrong in the server", cause);
    }
    channel.close();
  }
}
