package dev.roundhouse.worker.transport.tstream;

import dev.roundhouse.engine.request.Answer;
import dev.roundhouse.engine.request.InferenceRequest;
import dev.roundhouse.kserve.status.WireException;
import dev.roundhouse.kserve.status.WireStatus;
import dev.roundhouse.kserve.tstream.ClientHello;
import dev.roundhouse.kserve.tstream.HelloStatus;
import dev.roundhouse.kserve.tstream.MalformedStreamException;
import dev.roundhouse.kserve.tstream.ServerReply;
import dev.roundhouse.kserve.tstream.StreamOption;
import dev.roundhouse.transport.access.CallerRights;
import dev.roundhouse.transport.io.StagedClose;
import dev.roundhouse.transport.memory.ConnectionMemory;
import dev.roundhouse.transport.memory.Kept;
import dev.roundhouse.worker.transport.Inference;
import dev.roundhouse.worker.transport.tstream.StreamLoad.End;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.socket.ChannelInputShutdownEvent;
import io.netty.util.concurrent.Future;
import java.io.IOException;
import java.util.LinkedHashSet;
import java.util.Queue;
import java.util.SequencedSet;
import java.util.Set;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.zip.CRC32C;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One connection: its hello, then messages in and results out. Belongs to its event loop; {@link
 * #ended} and {@link #drain} may be called by any thread.
 *
 * <p>Whole messages of one read are one request, as far as their rows fit a program. Messages are
 * numbered from 0 in the order in which they came, and each that is taken has one result. What is
 * under way is bounded by the window, and so are results that the client does not read.
 */
final class StreamConnection extends ChannelInboundHandlerAdapter implements MessageCutter.Taker {
  private static final Logger log = LoggerFactory.getLogger(StreamConnection.class);

  /** Of a client that is told that its connection ends, so many bytes are read and forgotten. */
  private static final long ENDING_BYTES = 64 << 20;

  private static final long ENDING_NANOS = TimeUnit.SECONDS.toNanos(5);
  private static final long NO_BUDGET = 0xffff_ffffL;
  private static final int DEADLINE_BYTES = Integer.BYTES;
  private static final int CHECKSUM_BYTES = Integer.BYTES;

  private final StreamServer server;
  private final Channel channel;
  private final ConnectionMemory memory;
  private final Queue<MessageGroup> ended = new ConcurrentLinkedQueue<>();
  private final AtomicInteger wanted = new AtomicInteger();

  // The rest is the event loop's.

  private @Nullable ByteBuf hello;
  private @Nullable Future<?> helloTimer;
  private @Nullable Open open;
  private boolean ending;
  private final StreamWatch watch;

  /** What a stream has after its handshake. */
  private final class Open {
    final Set<StreamOption> options;
    final int window;
    final @Nullable CallerRights rights;
    final MessageCutter cutter;
    final ResultWriter writer;
    final int head;
    final int stride;
    final SequencedSet<MessageGroup> groups = new LinkedHashSet<>();
    StreamTarget target;
    long taken;
    long answered;

    /** Bytes of messages, ever. */
    long received;

    Open(Handshake.Agreed agreed) {
      options = agreed.options();
      window = agreed.window();
      rights = agreed.rights();
      target = agreed.target();
      head = options.contains(StreamOption.DEADLINE) ? DEADLINE_BYTES : 0;
      int tail = options.contains(StreamOption.CHECKSUM) ? CHECKSUM_BYTES : 0;
      stride = Math.addExact(head + tail, target.spec().requestBytes());
      cutter =
          new MessageCutter(
              stride, channel.alloc(), memory.of(Kept.MESSAGE), StreamConnection.this);
      writer = new ResultWriter(target.spec(), tail > 0);
    }

    long last() {
      return taken - 1;
    }
  }

  StreamConnection(StreamServer server, Channel channel, ConnectionMemory memory) {
    this.server = server;
    this.channel = channel;
    this.memory = memory;
    watch = new StreamWatch(this, server.settings());
  }

  @Override
  public void handlerAdded(ChannelHandlerContext context) {
    helloTimer =
        channel
            .eventLoop()
            .schedule(this::onNoHello, server.settings().handshakeNanos(), TimeUnit.NANOSECONDS);
  }

  @Override
  public void channelRead(ChannelHandlerContext context, Object message) {
    ByteBuf read = (ByteBuf) message;
    try {
      if (ending) {
        return;
      }
      Open now = open == null ? readHello(read) : open;
      if (now != null) {
        now.received += read.readableBytes();
        now.cutter.read(read);
      }
    } finally {
      read.release();
    }
  }

  @Override
  public void channelReadComplete(ChannelHandlerContext context) {
    Open now = open;
    if (now != null && !ending) {
      if (now.options.contains(StreamOption.ACCEPT_NOTICES)) {
        now.writer.notice(channel, now.last());
      }
      watch.begin();
    }
    channel.flush();
  }

  // --- the hello

  private @Nullable Open readHello(ByteBuf read) {
    ByteBuf all = hello == null ? channel.alloc().buffer(ClientHello.HEAD_BYTES * 4) : hello;
    hello = all;
    all.writeBytes(read, Math.min(read.readableBytes(), missing(all, ClientHello.HEAD_BYTES)));
    try {
      if (!ClientHello.mayBegin(all.nioBuffer())) {
        throw new HelloRefusedException(
            HelloStatus.BAD_HELLO,
            "what came does not begin with 'TSRM'; this port speaks TSTREAM and nothing else");
      }
      if (all.readableBytes() < ClientHello.HEAD_BYTES) {
        return null;
      }
      int length = ClientHello.length(all.nioBuffer());
      all.writeBytes(read, Math.min(read.readableBytes(), missing(all, length)));
      return all.readableBytes() < length ? null : greet(ClientHello.read(all.nioBuffer()));
    } catch (MalformedStreamException e) {
      refuse(new HelloRefusedException(HelloStatus.BAD_HELLO, String.valueOf(e.getMessage())));
    } catch (HelloRefusedException e) {
      refuse(e);
    }
    return null;
  }

  private static int missing(ByteBuf begun, int length) {
    return Math.max(0, length - begun.readableBytes());
  }

  private Open greet(ClientHello said) throws HelloRefusedException {
    if (server.isDraining()) {
      throw new HelloRefusedException(HelloStatus.NOT_READY, "Server exiting");
    }
    Handshake.Agreed agreed = server.handshake().answer(said, channel.remoteAddress());
    forgetHello();
    Open begun = new Open(agreed);
    open = begun;
    channel.write(Unpooled.wrappedBuffer(agreed.reply().encoded()));
    return begun;
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

  private void refuse(HelloRefusedException why) {
    server.load().refused(why.status());
    String text = server.texts().of(String.valueOf(why.getMessage()));
    ServerReply reply = why.reply(text);
    log.debug("a stream of {} is refused: {}", channel.remoteAddress(), text);
    endAfter(channel.write(Unpooled.wrappedBuffer(reply.encoded())));
  }

  private void onNoHello() {
    if (open == null && !ending) {
      server.load().ended(End.HANDSHAKE);
      refuse(
          new HelloRefusedException(
              HelloStatus.BAD_HELLO,
              "no whole hello has come within %d ms"
                  .formatted(TimeUnit.NANOSECONDS.toMillis(server.settings().handshakeNanos()))));
      channel.flush();
    }
  }

  // --- messages

  @Override
  public void onMessages(ByteBuf bytes, int count) {
    Open now = open;
    try {
      if (now == null || ending || !hasWindow(now, count) || !isCurrent(now)) {
        return;
      }
      int most = now.head > 0 ? 1 : now.target.mostTogether();
      int begun = 0;
      for (int at = 0; at < count; at++) {
        WireException refusal = refusal(now, bytes, at);
        if (refusal != null) {
          submit(now, bytes, begun, at - begun);
          begun = at + 1;
          fail(now, refusal);
        } else if (at + 1 - begun == most) {
          submit(now, bytes, begun, most);
          begun = at + 1;
        }
      }
      submit(now, bytes, begun, count - begun);
    } finally {
      bytes.release();
    }
  }

  @Override
  public void onForgotten(String why) {
    Open now = open;
    if (now != null && !ending && hasWindow(now, 1)) {
      fail(now, new WireException(WireStatus.RESOURCE_EXHAUSTED, why));
    }
  }

  private boolean hasWindow(Open now, int more) {
    long underWay = now.taken - now.answered;
    if (underWay + more <= now.window) {
      return true;
    }
    end(
        End.WINDOW,
        WireStatus.FAILED_PRECONDITION,
        "%d messages are under way, %d more came, and the window is %d: send the next when a result has come"
            .formatted(underWay, more, now.window));
    return false;
  }

  /** False when the model was replaced by one with other tensors: then the connection ends. */
  private boolean isCurrent(Open now) {
    StreamTarget target = now.target;
    if (server.targets().isCurrent(target)) {
      return true;
    }
    StreamTarget next = null;
    String why = "";
    try {
      next = server.targets().again(target);
    } catch (HelloRefusedException e) {
      why = ": " + server.texts().of(String.valueOf(e.getMessage()));
    }
    if (next != null) {
      now.target = next;
      now.writer.generation(channel, now.last(), next.generation(), next.spec().digest());
      return true;
    }
    end(
        End.REPLACED,
        WireStatus.FAILED_PRECONDITION,
        "model '%s' was replaced, and what was agreed on does not hold of it any more%s; connect again"
            .formatted(target.model(), why));
    return false;
  }

  /** Why one message is no request; null when it may be. */
  private @Nullable WireException refusal(Open now, ByteBuf bytes, int message) {
    int start = bytes.readerIndex() + message * now.stride;
    if (now.options.contains(StreamOption.CHECKSUM)) {
      int covered = now.stride - CHECKSUM_BYTES;
      CRC32C checksum = new CRC32C();
      checksum.update(bytes.nioBuffer(start, covered));
      int said = bytes.getIntLE(start + covered);
      if (said != (int) checksum.getValue()) {
        return new WireException(
            WireStatus.INVALID_ARGUMENT,
            "the message's CRC-32C is %08x, and it ends with %08x: it was damaged on its way"
                .formatted((int) checksum.getValue(), said));
      }
    }
    if (now.rights != null) {
      try {
        Inference.admit(now.rights, now.target.model(), now.target.spec().requestBytes());
      } catch (WireException e) {
        return e;
      }
    }
    return null;
  }

  private void fail(Open now, WireException why) {
    begin(now, 1, null).fail(why);
  }

  private MessageGroup begin(Open now, int count, @Nullable ByteBuf messages) {
    MessageGroup group = new MessageGroup(this, now.taken, count, messages);
    now.taken += count;
    now.writer.taken(count);
    now.groups.add(group);
    server.load().taken(count);
    return group;
  }

  private void submit(Open now, ByteBuf bytes, int from, int count) {
    if (count == 0) {
      return;
    }
    int start = bytes.readerIndex() + from * now.stride;
    ByteBuf own = bytes.retainedSlice(start, count * now.stride);
    MessageGroup group = begin(now, count, own);
    try {
      Inference inference = server.inference();
      InferenceRequest request =
          inference.request(
              now.target.model(),
              now.target.version(),
              MessageGroup.inputs(own, now.target.spec(), now.head, now.stride, count),
              deadlineNanos(now, own),
              memory.peerNumber(),
              now.rights,
              group);
      server.load().submitted();
      group.submitted(inference.engine().submit(request));
    } catch (RuntimeException | Error e) { // it must end: its client would wait for ever
      server.warn("messages could not be submitted", e);
      group.fail(new WireException(WireStatus.INTERNAL, "the message could not be submitted"));
    }
  }

  private long deadlineNanos(Open now, ByteBuf message) {
    long micros = now.head > 0 ? message.getUnsignedIntLE(message.readerIndex()) : NO_BUDGET;
    return micros == NO_BUDGET
        ? InferenceRequest.NO_DEADLINE
        : server.inference().engine().nanoTime() + TimeUnit.MICROSECONDS.toNanos(micros);
  }

  // --- results

  /** A group has its answer, or none. Any thread. */
  void ended(MessageGroup group) {
    ended.add(group);
    if (wanted.getAndIncrement() == 0) {
      try {
        channel.eventLoop().execute(this::writeEnded);
      } catch (RejectedExecutionException e) { // the server has stopped; nobody reads it
        for (MessageGroup each = ended.poll(); each != null; each = ended.poll()) {
          each.drop();
          server.load().answered(each.count());
        }
      }
    }
  }

  private void writeEnded() {
    try {
      writeAll();
    } catch (RuntimeException | Error e) { // Netty would only log it, and the client would wait
      onFailure(e);
      for (MessageGroup group = ended.poll(); group != null; group = ended.poll()) {
        forget(group);
      }
    }
  }

  private void writeAll() {
    wanted.set(0);
    for (MessageGroup group = ended.poll(); group != null; group = ended.poll()) {
      group.markDone();
      if (!channel.isActive() || open == null) {
        forget(group);
      } else if (!open.options.contains(StreamOption.IN_ORDER)) {
        write(open, group);
      }
    }
    Open now = open;
    if (now == null) {
      return;
    }
    while (!now.groups.isEmpty() && now.groups.getFirst().isDone()) {
      write(now, now.groups.getFirst()); // only of those in order: others have gone
    }
    if (ending && now.groups.isEmpty()) {
      finish();
    }
    channel.flush();
    watch.begin();
  }

  private void forget(MessageGroup group) {
    group.drop();
    server.load().answered(group.count());
    if (open != null) {
      open.groups.remove(group);
    }
  }

  private void write(Open now, MessageGroup group) {
    now.groups.remove(group);
    ChannelFuture written;
    try {
      written = written(now, group);
    } catch (RuntimeException | Error e) {
      over(now, group);
      throw e;
    }
    // Not sooner than it is sent: a client that does not read uses its window up.
    written.addListener(sent -> over(now, group));
  }

  private void over(Open now, MessageGroup group) {
    now.answered += group.count();
    server.load().answered(group.count());
  }

  private ChannelFuture written(Open now, MessageGroup group) {
    Answer answer = group.answer();
    WireException failure = group.failure();
    if (answer != null) {
      try {
        return now.writer.results(channel, group, answer);
      } catch (WireException e) {
        failure = e;
      }
    }
    WireException why =
        failure == null ? new WireException(WireStatus.INTERNAL, "there is no answer") : failure;
    String text = server.texts().of(String.valueOf(why.getMessage()));
    return now.writer.failures(channel, group, why.status().grpcCode(), text);
  }

  @Override
  public void channelWritabilityChanged(ChannelHandlerContext context) {
    watch.begin();
  }

  // --- ends

  /** No further message is taken; what was is answered. Any thread. */
  void drain() {
    channel.eventLoop().execute(this::onDrain);
  }

  private void onDrain() {
    Open now = open;
    if (ending || !channel.isActive()) {
      return;
    }
    if (now == null) {
      refuse(new HelloRefusedException(HelloStatus.NOT_READY, "Server exiting"));
    } else {
      now.writer.draining(channel, now.last());
      beginEnd(now);
    }
    channel.flush();
  }

  /** What was taken is still answered; what comes now is forgotten. */
  private void beginEnd(Open now) {
    ending = true;
    now.cutter.close();
    if (now.groups.isEmpty()) {
      finish();
    }
  }

  private void finish() {
    endAfter(channel.writeAndFlush(Unpooled.EMPTY_BUFFER));
  }

  /** Tells the client why the connection ends, once it has all results. */
  void end(End why, WireStatus status, String text) {
    Open now = open;
    if (now == null || ending) {
      return;
    }
    server.load().ended(why);
    log.debug("a stream of {} ends: {}", channel.remoteAddress(), text);
    now.writer.closed(channel, now.last(), status.grpcCode(), text);
    beginEnd(now);
  }

  private void endAfter(ChannelFuture told) {
    ending = true;
    forgetHello();
    told.addListener(sent -> StagedClose.begin(channel, ENDING_BYTES, ENDING_NANOS));
  }

  /** The client sends no more. */
  @Override
  public void userEventTriggered(ChannelHandlerContext context, Object event) {
    if (!(event instanceof ChannelInputShutdownEvent) || ending) {
      return;
    }
    Open now = open;
    if (now == null) {
      if (hello != null && hello.isReadable()) {
        server.load().ended(End.HANDSHAKE);
      }
      channel.close();
    } else if (now.cutter.isAmidMessage()) {
      end(
          End.TRUNCATED,
          WireStatus.INVALID_ARGUMENT,
          "the client's side ended in the middle of message %d: %d of %d bytes are missing"
              .formatted(now.taken, now.cutter.missing(), now.stride));
      channel.flush();
    } else {
      beginEnd(now);
    }
  }

  @Override
  public void channelInactive(ChannelHandlerContext context) {
    Open now = open;
    if (now != null) {
      if (now.cutter.isAmidMessage() && !ending) {
        server.load().ended(End.TRUNCATED);
      }
      now.cutter.close();
      for (MessageGroup group : now.groups.toArray(MessageGroup[]::new)) {
        if (group.isDone()) {
          forget(group);
        } else {
          group.cancel();
        }
      }
    }
    ending = true;
    forgetHello();
  }

  @Override
  public void exceptionCaught(ChannelHandlerContext context, Throwable cause) {
    onFailure(cause);
  }

  private void onFailure(Throwable cause) {
    if (!(cause instanceof IOException)) { // that is a client which has gone
      server.load().ended(End.FAILED);
      server.warn("a stream is closed, because something is wrong in the server", cause);
    }
    channel.close();
  }

  // --- for the watch

  Channel channel() {
    return channel;
  }

  /** A message has begun to come and is not whole. */
  boolean isAmidMessage() {
    return open != null && !ending && open.cutter.isAmidMessage();
  }

  /** Messages, ever. */
  long taken() {
    return open == null ? 0 : open.taken;
  }

  /** Bytes of messages, ever. */
  long received() {
    return open == null ? 0 : open.received;
  }

  void endStalled() {
    Open now = open;
    if (now != null) {
      end(
          End.STALLED,
          WireStatus.DEADLINE_EXCEEDED,
          "message %d has not come whole within roundhouse.worker.server.stalled-message-timeout: %d of %d bytes are missing"
              .formatted(now.taken, now.cutter.missing(), now.stride));
      channel.flush();
    }
  }

  /** Memory is short. */
  void relieve() {
    if (isAmidMessage()) {
      end(
          End.STALLED,
          WireStatus.RESOURCE_EXHAUSTED,
          "there is too little memory to wait for the rest of a message; connect again later");
      channel.flush();
    }
  }

  /** The client has results to read, and does not. */
  boolean isUnread() {
    return channel.isActive() && !channel.isWritable();
  }

  /** Bytes of results, ever. */
  long written() {
    return open == null ? 0 : open.writer.written();
  }

  void closeUnread() {
    server.load().ended(End.UNREAD);
    channel.close();
  }
}
