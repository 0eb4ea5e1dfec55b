package dev.roundhouse.worker.transport.tstream;

import dev.roundhouse.engine.request.Answer;
import dev.roundhouse.kserve.status.WireException;
import dev.roundhouse.kserve.status.WireStatus;
import dev.roundhouse.kserve.tstream.StreamOption;
import dev.roundhouse.platform.tstream.StreamPort;
import dev.roundhouse.transport.memory.ConnectionMemory;
import dev.roundhouse.worker.transport.tstream.StreamLoad.End;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import java.util.LinkedHashSet;
import java.util.Queue;
import java.util.SequencedSet;
import java.util.Set;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A connection after its handshake: messages in, results out. Belongs to its event loop; {@link
 * #ended} may be called by any thread.
 *
 * <p>Messages are numbered from 0 in the order in which they came, and each that is taken has one
 * result. What is under way is bounded by the window, and so are results that the client does not
 * read.
 */
final class OpenStream {
  private static final Logger log = LoggerFactory.getLogger(OpenStream.class);

  private final StreamServer server;
  private final Channel channel;
  private final Set<StreamOption> options;
  private final int window;
  private final MessageIntake intake;
  private final ResultWriter writer;
  private final StreamWatch watch;

  private final Queue<MessageGroup> ended = new ConcurrentLinkedQueue<>();
  private final AtomicInteger wanted = new AtomicInteger();

  // The rest is the event loop's.

  /** Under way, in order. */
  private final SequencedSet<MessageGroup> groups = new LinkedHashSet<>();

  private long taken;
  private long answered;

  /** No further message is taken. */
  private boolean ending;

  OpenStream(
      StreamServer server, Channel channel, ConnectionMemory memory, Handshake.Agreed agreed) {
    this.server = server;
    this.channel = channel;
    options = agreed.options();
    window = agreed.window();
    intake = new MessageIntake(this, server, channel.alloc(), memory, agreed);
    SharedPlaces places = agreed.places();
    writer =
        new ResultWriter(
            agreed.target().spec(),
            intake.layout().hasChecksum(),
            places == null ? null : places.outputs());
    watch = new StreamWatch(this, server.settings());
  }

  /** The number of the last message that was taken; -1 before the first. */
  private long last() {
    return taken - 1;
  }

  // --- messages

  /**
   * @param read borrowed
   */
  void read(ByteBuf read) {
    if (!ending) {
      intake.read(read);
    }
  }

  /** Where the next bytes had best be read to; null when any place is as good. */
  @Nullable ByteBuf lend() {
    return ending ? null : intake.lend();
  }

  /** What was there has been read. */
  void onReadComplete() {
    intake.onReadComplete();
    if (!ending && options.contains(StreamOption.ACCEPT_NOTICES)) {
      writer.notice(channel, last());
    }
    watch.begin();
  }

  // --- for the intake

  /** No further message is taken. */
  boolean isEnding() {
    return ending;
  }

  /** False when so many more are more than its window has room for: then the connection ends. */
  boolean hasWindow(int more) {
    long underWay = taken - answered;
    if (underWay + more <= window) {
      return true;
    }
    end(
        End.WINDOW,
        WireStatus.FAILED_PRECONDITION,
        "%d messages are under way, %d more came, and the window is %d: send the next when a result has come"
            .formatted(underWay, more, window));
    return false;
  }

  /** Takes a message that is no request. */
  void fail(WireException why) {
    begin(1, 0, () -> {}).fail(why);
  }

  /**
   * Takes messages that become one request.
   *
   * @param memory gives theirs back; called once, when they are over or not taken
   */
  MessageGroup begin(int count, long resultAt, Runnable memory) {
    MessageGroup group;
    try {
      group = new MessageGroup(this, taken, count, resultAt, memory);
      groups.add(group);
    } catch (Throwable e) {
      memory.run();
      throw e;
    }
    taken += count;
    writer.taken(count);
    server.load().taken(count);
    return group;
  }

  /** The model was replaced by one with the same tensors. */
  void onReplaced(StreamTarget next) {
    writer.generation(channel, last(), next.generation(), next.spec().digest());
  }

  void endReplaced(String why) {
    end(End.REPLACED, WireStatus.FAILED_PRECONDITION, why);
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
      server.onFailure(channel, e);
      for (MessageGroup group = ended.poll(); group != null; group = ended.poll()) {
        forget(group);
      }
    }
  }

  private void writeAll() {
    wanted.set(0);
    for (MessageGroup group = ended.poll(); group != null; group = ended.poll()) {
      group.markDone();
      if (!channel.isActive()) {
        forget(group);
      } else if (!options.contains(StreamOption.IN_ORDER)) {
        write(group);
      }
    }
    while (!groups.isEmpty() && groups.getFirst().isDone()) {
      write(groups.getFirst()); // only of those in order: others have gone
    }
    if (ending && groups.isEmpty()) {
      finish();
    }
    channel.flush();
    watch.begin();
  }

  private void forget(MessageGroup group) {
    group.drop();
    server.load().answered(group.count());
    groups.remove(group);
  }

  private void write(MessageGroup group) {
    groups.remove(group);
    ChannelFuture written;
    try {
      written = written(group);
    } catch (RuntimeException | Error e) {
      over(group);
      throw e;
    }
    // Not sooner than it is sent: a client that does not read uses its window up.
    written.addListener(sent -> over(group));
  }

  private void over(MessageGroup group) {
    answered += group.count();
    server.load().answered(group.count());
  }

  private ChannelFuture written(MessageGroup group) {
    Answer answer = group.answer();
    WireException failure = group.failure();
    if (answer != null) {
      try {
        return writer.results(channel, group, answer);
      } catch (WireException e) {
        failure = e;
      }
    }
    WireException why =
        failure == null ? new WireException(WireStatus.INTERNAL, "there is no answer") : failure;
    String text = server.texts().of(String.valueOf(why.getMessage()));
    return writer.failures(channel, group, why.status().grpcCode(), text);
  }

  void onWritabilityChanged() {
    watch.begin();
  }

  // --- ends

  /** No further message is taken; what was is answered. */
  void drain() {
    if (!ending) {
      writer.draining(channel, last());
      beginEnd();
    }
  }

  /** What was taken is still answered; what comes now is forgotten. */
  private void beginEnd() {
    ending = true;
    intake.endInput();
    if (groups.isEmpty()) {
      finish();
    }
  }

  private void finish() {
    StreamPort.endAfter(channel, channel.writeAndFlush(Unpooled.EMPTY_BUFFER));
  }

  /** Tells the client why the connection ends, before its last results. */
  private void end(End why, WireStatus status, String text) {
    if (ending) {
      return;
    }
    server.load().ended(why);
    log.debug("a stream of {} ends: {}", channel.remoteAddress(), text);
    writer.closed(channel, last(), status.grpcCode(), text);
    beginEnd();
  }

  /** The client sends no more. */
  void onInputEnd() {
    if (ending) {
      return;
    }
    if (intake.isAmidMessage()) {
      end(
          End.TRUNCATED,
          WireStatus.INVALID_ARGUMENT,
          "the client's side ended in the middle of message %d: %s"
              .formatted(taken, intake.missing()));
      channel.flush();
    } else {
      beginEnd();
    }
  }

  /** The connection is gone. */
  void onClosed() {
    if (isAmidMessage()) {
      server.load().ended(End.TRUNCATED);
    }
    ending = true;
    intake.close();
    for (MessageGroup group : groups.toArray(MessageGroup[]::new)) {
      if (group.isDone()) {
        forget(group);
      } else {
        group.cancel();
      }
    }
  }

  /** Memory is short: what has begun to come and may never be whole is given up. */
  void relieve() {
    if (isAmidMessage()) {
      end(
          End.STALLED,
          WireStatus.RESOURCE_EXHAUSTED,
          "there is too little memory to wait for the rest of a message; connect again later");
      channel.flush();
    }
  }

  /** Where its messages are. */
  StreamStages stages() {
    long waiting = 0;
    long running = 0;
    long ended = 0;
    for (MessageGroup group : groups) {
      if (group.isOver()) {
        ended += group.count();
      } else if (group.isInBatch()) {
        running += group.count();
      } else {
        waiting += group.count();
      }
    }
    long sending = taken - answered - waiting - running;
    assert sending >= ended;
    return new StreamStages(isAmidMessage() ? 1 : 0, waiting, running, sending);
  }

  // --- for the watch

  Channel channel() {
    return channel;
  }

  /** A message has begun to come and is not whole. */
  boolean isAmidMessage() {
    return !ending && intake.isAmidMessage();
  }

  /** Messages, ever. */
  long taken() {
    return taken;
  }

  /** Bytes of messages, ever. */
  long received() {
    return intake.received();
  }

  void endStalled() {
    end(
        End.STALLED,
        WireStatus.DEADLINE_EXCEEDED,
        "message %d has not come whole within roundhouse.worker.server.stalled-message-timeout: %s"
            .formatted(taken, intake.missing()));
    channel.flush();
  }

  /** The client has results to read, and does not. */
  boolean isUnread() {
    return channel.isActive() && !channel.isWritable();
  }

  /** Bytes of results, ever. */
  long written() {
    return writer.written();
  }

  void closeUnread() {
    server.load().ended(End.UNREAD);
    channel.close();
  }
}
