package dev.roundhouse.gateway.stream;

import dev.roundhouse.gateway.route.RequestHead;
import dev.roundhouse.gateway.route.RouteAttempt;
import dev.roundhouse.gateway.stream.StreamCounts.End;
import dev.roundhouse.kserve.tstream.ClientHello;
import dev.roundhouse.kserve.tstream.HelloStatus;
import dev.roundhouse.kserve.tstream.ServerReply;
import dev.roundhouse.platform.tstream.HelloReader;
import dev.roundhouse.platform.tstream.HelloRefusedException;
import dev.roundhouse.platform.tstream.HelloToken;
import dev.roundhouse.platform.tstream.StreamPeer;
import dev.roundhouse.platform.tstream.StreamPort;
import dev.roundhouse.transport.access.CallerRights;
import dev.roundhouse.transport.forward.LostCall;
import dev.roundhouse.transport.forward.Splice;
import dev.roundhouse.transport.memory.ConnectionMemory;
import dev.roundhouse.transport.memory.Kept;
import io.grpc.Status;
import io.grpc.StatusException;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.socket.ChannelInputShutdownEvent;
import java.io.IOException;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * A client's connection, until a worker has taken its stream: its hello, and the workers that are
 * asked. Nothing is read while they are. Belongs to its event loop; {@link #drain} and {@link
 * #relieve} may be called by any thread.
 */
final class ClientStream extends ChannelInboundHandlerAdapter
    implements StreamPeer, WorkerHello.Outcome, Splice.Listener {
  /** For a client to close its side once its worker has ended: as long as a worker waits. */
  private static final long LINGER_NANOS = TimeUnit.SECONDS.toNanos(5);

  private static final byte[] NOTHING = {};

  private final StreamGate gate;
  private final Channel channel;
  private final ConnectionMemory memory;
  private final HelloReader hello;

  // The rest is the event loop's.

  private State state = State.GREETING;
  private @Nullable CallerRights rights;

  /** What workers are told, while they are asked. */
  private byte[] passedOn = NOTHING;

  /** What the client has sent behind its hello, and before a worker has taken the stream. */
  private ByteBuf early = Unpooled.EMPTY_BUFFER;

  private @Nullable RouteAttempt route;
  private @Nullable WorkerHello asked;
  private @Nullable Splice splice;

  private enum State {
    /** Its hello is not complete. */
    GREETING,
    /** A worker is asked. */
    ASKING,
    /** A worker has taken it. */
    OPEN,
    /** It was refused, or is gone: what comes now is forgotten. */
    OVER
  }

  ClientStream(StreamGate gate, Channel channel, ConnectionMemory memory) {
    this.gate = gate;
    this.channel = channel;
    this.memory = memory;
    hello = new HelloReader(channel, memory, gate.times().hello().toNanos(), this::onNoHello);
  }

  @Override
  public void handlerAdded(ChannelHandlerContext context) {
    hello.begin();
  }

  @Override
  public void channelRead(ChannelHandlerContext context, Object message) {
    if (state == State.OPEN) {
      context.fireChannelRead(message);
      return;
    }
    ByteBuf read = (ByteBuf) message;
    try {
      if (state == State.GREETING) {
        readHello(read);
      }
      if (state == State.ASKING && read.isReadable()) {
        keep(read);
      }
    } finally {
      read.release();
    }
  }

  @Override
  public void channelReadComplete(ChannelHandlerContext context) {
    if (state == State.OPEN) {
      context.fireChannelReadComplete();
    } else {
      channel.flush();
    }
  }

  private void readHello(ByteBuf read) {
    try {
      ClientHello said = hello.read(read);
      if (said != null) {
        hello.close();
        greet(said);
      }
    } catch (HelloRefusedException e) {
      refuse(e);
    } catch (StatusException e) {
      refuse(ReplyStatus.refusal(e.getStatus()));
    }
  }

  private void greet(ClientHello said) throws HelloRefusedException, StatusException {
    if (gate.isDraining()) {
      throw new HelloRefusedException(HelloStatus.NOT_READY, StreamPort.EXITING);
    }
    HelloToken token = HelloToken.read(said.token());
    rights = gate.access().admit(said, token, channel.remoteAddress(), null);
    if (rights != null) {
      rights.infer(said.model());
    }
    byte[] told = passedOn(said.saying(token.passedOn(memory.peerNumber(), rights)));
    RouteAttempt first =
        gate.routes().stream(
            new RequestHead(said.model(), said.version(), "", Math.max(1, said.rows())));
    state = State.ASKING;
    passedOn = told;
    memory.add(Kept.MESSAGE, told.length);
    channel.config().setAutoRead(false); // what comes now is for the worker
    ask(first);
  }

  private static byte[] passedOn(ClientHello hello) throws HelloRefusedException {
    try {
      return hello.encoded();
    } catch (IllegalArgumentException e) {
      throw new HelloRefusedException(
          HelloStatus.BAD_HELLO,
          e.getMessage() + ", those included that a gateway writes in the place of the token");
    }
  }

  /** Its buffer is kept as it is, and counted so. */
  private void keep(ByteBuf read) {
    memory.add(Kept.MESSAGE, read.readableBytes());
    early = early.isReadable() ? Unpooled.wrappedBuffer(early, read.retain()) : read.retain();
  }

  private ByteBuf takeEarly() {
    ByteBuf taken = early;
    early = Unpooled.EMPTY_BUFFER;
    memory.giveBack(Kept.MESSAGE, taken.readableBytes());
    return taken;
  }

  private void forgetHello() {
    memory.giveBack(Kept.MESSAGE, passedOn.length);
    passedOn = NOTHING;
  }

  // --- the workers

  private void ask(RouteAttempt next) {
    route = next;
    try {
      WorkerHello to =
          new WorkerHello(
              gate.sockets(), gate.times().reply(), next.worker(), next.stream(), passedOn, this);
      asked = to;
      to.begin(channel.eventLoop());
    } catch (Throwable e) { // an Error too: the client would wait for ever
      exceptionCaught(e);
    }
  }

  private void endRoute(Status status) {
    RouteAttempt last = route;
    route = null;
    asked = null;
    if (last != null) {
      last.ended(status);
    }
  }

  /** True when another worker is asked in the place of one that could not take the stream. */
  private boolean askAnother(Status status) {
    RouteAttempt next = route == null ? null : route.other(status);
    if (next == null) {
      return false;
    }
    ask(next);
    return true;
  }

  @Override
  public void taken(Channel worker, ByteBuf said) {
    asked = null;
    state = State.OPEN;
    forgetHello();
    gate.counts().begun();
    Splice.Times times = new Splice.Times(LINGER_NANOS, gate.times().unread().toNanos());
    Splice made = new Splice(channel, worker, memory, times, this);
    splice = made;
    made.begin(takeEarly(), said);
  }

  @Override
  public void refused(ServerReply reply, ByteBuf said) {
    Status status = ReplyStatus.of(reply);
    if (ReplyStatus.isForAnother(reply.status()) && askAnother(status)) {
      said.release();
      return;
    }
    endRoute(status);
    end();
    gate.counts().refused(reply.status());
    StreamPort.endAfter(channel, channel.writeAndFlush(said));
  }

  @Override
  public void failed(Status why) {
    if (askAnother(why)) {
      return;
    }
    endRoute(why);
    refuse(ReplyStatus.refusal(why));
    channel.flush();
  }

  // --- while it is open

  @Override
  public void passed(boolean fromClient, int bytes) {
    gate.counts().passed(fromClient, bytes);
    if (fromClient && rights != null) {
      rights.arrived(bytes);
    }
  }

  @Override
  public void ended(Splice.End how, @Nullable Throwable why) {
    state = State.OVER;
    splice = null;
    gate.counts().over();
    gate.counts()
        .ended(
            switch (how) {
              case COMPLETE -> End.COMPLETE;
              case CLIENT_LOST -> End.CLIENT_LOST;
              case SERVER_LOST -> End.WORKER_LOST;
              case UNREAD -> End.UNREAD;
              case RELIEVED -> End.RELIEVED;
              case FAILED -> End.FAILED;
            });
    if (how == Splice.End.FAILED && why != null) {
      gate.warn(why);
    }
    endRoute(
        switch (how) {
          case COMPLETE -> Status.OK;
          case CLIENT_LOST, UNREAD, RELIEVED -> Status.CANCELLED;
          case SERVER_LOST -> lost();
          case FAILED -> Status.INTERNAL;
        });
  }

  private static Status lost() {
    String text = "the worker's connection is lost";
    return Status.UNAVAILABLE
        .withDescription(text)
        .withCause(new LostCall(text, LostCall.Seen.MAYBE, LostCall.Fault.SERVERS));
  }

  // --- ends

  private void refuse(HelloRefusedException why) {
    end();
    gate.refuse(channel, why);
  }

  private void onNoHello(HelloRefusedException why) {
    if (state == State.GREETING) {
      gate.counts().ended(End.HANDSHAKE);
      refuse(why);
      channel.flush();
    }
  }

  /** Nothing more is waited for. */
  private void end() {
    state = State.OVER;
    hello.close();
    forgetHello();
    takeEarly().release();
    if (asked != null) {
      asked.takeBack();
    }
    endRoute(Status.CANCELLED);
  }

  /** A stream that is open goes on. */
  @Override
  public void drain() {
    channel.eventLoop().execute(this::onDrain);
  }

  private void onDrain() {
    if ((state == State.GREETING || state == State.ASKING) && channel.isActive()) {
      refuse(new HelloRefusedException(HelloStatus.NOT_READY, StreamPort.EXITING));
      channel.flush();
    }
  }

  @Override
  public void relieve() {
    channel
        .eventLoop()
        .execute(
            () -> {
              if (splice != null) {
                splice.relieve();
              }
            });
  }

  /** The client sends no more; a worker that is asked is told when it has taken the stream. */
  @Override
  public void userEventTriggered(ChannelHandlerContext context, Object event) {
    if (state == State.OPEN) {
      context.fireUserEventTriggered(event);
    } else if (state == State.GREETING && event instanceof ChannelInputShutdownEvent) {
      if (hello.hasBegun()) {
        gate.counts().ended(End.HANDSHAKE);
      }
      channel.close();
    }
  }

  @Override
  public void channelWritabilityChanged(ChannelHandlerContext context) {
    context.fireChannelWritabilityChanged();
  }

  @Override
  public void channelInactive(ChannelHandlerContext context) {
    if (state == State.OPEN) {
      context.fireChannelInactive();
      return;
    }
    if (state == State.ASKING) {
      gate.counts().ended(End.CLIENT_LOST);
    }
    end();
  }

  @Override
  public void exceptionCaught(ChannelHandlerContext context, Throwable cause) {
    if (state == State.OPEN) {
      context.fireExceptionCaught(cause);
    } else {
      exceptionCaught(cause);
    }
  }

  private void exceptionCaught(Throwable cause) {
    if (!(cause instanceof IOException)) { // that is a client which has gone
      if (state != State.OVER) {
        gate.counts().ended(End.FAILED);
      }
      gate.warn(cause);
      end(); // it is counted
    }
    channel.close();
  }
}
