package dev.roundhouse.worker.transport.tstream;

import dev.roundhouse.engine.request.Answer;
import dev.roundhouse.engine.request.InferenceRequest;
import dev.roundhouse.engine.request.InputTensor;
import dev.roundhouse.kserve.codec.CallerHeader;
import dev.roundhouse.kserve.status.WireException;
import dev.roundhouse.kserve.status.WireStatus;
import dev.roundhouse.kserve.tstream.StreamOption;
import dev.roundhouse.platform.tstream.HelloRefusedException;
import dev.roundhouse.platform.tstream.StreamPort;
import dev.roundhouse.transport.access.CallerRights;
import dev.roundhouse.transport.memory.ConnectionMemory;
import dev.roundhouse.transport.memory.Kept;
import dev.roundhouse.worker.transport.Inference;
import dev.roundhouse.worker.transport.tstream.StreamLoad.End;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.LinkedHashSet;
import java.util.List;
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
 * A connection after its handshake: messages in, results out. Belongs to its event loop; {@link
 * #ended} may be called by any thread.
 *
 * <p>Whole messages of one read are one request, as far as their rows fit a program. Messages are
 * numbered from 0 in the order in which they came, and each that is taken has one result. What is
 * under way is bounded by the window, and so are results that the client does not read.
 */
final class OpenStream implements MessageCutter.Taker {
  private static final Logger log = LoggerFactory.getLogger(OpenStream.class);

  private static final long NO_BUDGET = 0xffff_ffffL;

  private final StreamServer server;
  private final Channel channel;
  private final Set<StreamOption> options;
  private final int window;
  private final @Nullable CallerRights rights;
  private final int caller;
  private final MessageCutter cutter;
  private final ResultWriter writer;
  private final StreamWatch watch;

  private final MessageLayout layout;
  private final RowBlocks blocks;

  /** In shared memory; null when messages carry their tensors. */
  private final @Nullable SharedPlaces places;

  /** Something is asked of each message before it is taken. */
  private final boolean isChecked;

  private final Queue<MessageGroup> ended = new ConcurrentLinkedQueue<>();
  private final AtomicInteger wanted = new AtomicInteger();

  // The rest is the event loop's.

  /** Under way, in order. */
  private final SequencedSet<MessageGroup> groups = new LinkedHashSet<>();

  private StreamTarget target;
  private long taken;
  private long answered;

  /** Bytes of messages, ever. */
  private long received;

  /** No further message is taken. */
  private boolean ending;

  OpenStream(
      StreamServer server, Channel channel, ConnectionMemory memory, Handshake.Agreed agreed) {
    this.server = server;
    this.channel = channel;
    options = agreed.options();
    window = agreed.window();
    rights = agreed.rights();
    caller = CallerHeader.caller(memory.peerNumber(), agreed.caller());
    target = agreed.target();
    layout = MessageLayout.of(target.spec(), options);
    blocks = server.blocks().open(target);
    isChecked = rights != null || layout.hasChecksum();
    cutter = new MessageCutter(layout, channel.alloc(), memory.of(Kept.MESSAGE), this);
    places = agreed.places();
    writer =
        new ResultWriter(
            target.spec(), layout.hasChecksum(), places == null ? null : places.outputs());
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
      received += read.readableBytes();
      cutter.read(read);
    }
  }

  /** Where the next bytes had best be read to; null when any place is as good. */
  @Nullable ByteBuf lend() {
    return ending ? null : cutter.lend();
  }

  /** What was there has been read. */
  void onReadComplete() {
    cutter.onReadComplete();
    if (!ending && options.contains(StreamOption.ACCEPT_NOTICES)) {
      writer.notice(channel, last());
    }
    watch.begin();
  }

  @Override
  public void onMessages(Messages messages) {
    int count = messages.count();
    if (ending || !hasWindow(count) || !isCurrent()) {
      return;
    }
    int most = layout.hasDeadline() || layout.isShared() ? 1 : target.mostTogether();
    int begun = 0;
    for (int at = 0; at < count; at++) {
      WireException refusal = isChecked ? refusal(messages.message(at)) : null;
      if (refusal != null) {
        place(messages, begun, at - begun);
        begun = at + 1;
        fail(refusal);
      } else if (at + 1 - begun == most) {
        place(messages, begun, most);
        begun = at + 1;
      }
    }
    place(messages, begun, count - begun);
  }

  @Override
  public void onLarge(LargeMessage message) {
    if (ending || !hasWindow(1) || !isCurrent()) {
      message.release();
      return;
    }
    WireException refusal = isChecked ? refusal(message.bytes()) : null;
    if (refusal != null) {
      message.release();
      fail(refusal);
      return;
    }
    submit(message.inputs(), 1, message.bytes(), message::release);
  }

  @Override
  public void onForgotten(String why) {
    if (!ending && hasWindow(1)) {
      fail(new WireException(WireStatus.RESOURCE_EXHAUSTED, why));
    }
  }

  private boolean hasWindow(int more) {
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

  /** False when the model was replaced by one with other tensors: then the connection ends. */
  private boolean isCurrent() {
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
      target = next;
      writer.generation(channel, last(), next.generation(), next.spec().digest());
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
  private @Nullable WireException refusal(ByteBuffer message) {
    message.order(ByteOrder.LITTLE_ENDIAN);
    if (layout.hasChecksum()) {
      int covered = layout.bytes() - MessageLayout.CHECKSUM_BYTES;
      CRC32C checksum = new CRC32C();
      checksum.update(message.slice(message.position(), covered));
      int said = message.getInt(message.position() + covered);
      if (said != (int) checksum.getValue()) {
        return new WireException(
            WireStatus.INVALID_ARGUMENT,
            "the message's CRC-32C is %08x, and it ends with %08x: it was damaged on its way"
                .formatted((int) checksum.getValue(), said));
      }
    }
    if (rights != null) {
      try {
        Inference.admit(rights, target.model(), target.spec().requestBytes());
      } catch (WireException e) {
        return e;
      }
    }
    return null;
  }

  private void fail(WireException why) {
    begin(1, 0, () -> {}).fail(why);
  }

  private MessageGroup begin(int count, long resultAt, Runnable memory) {
    MessageGroup group = new MessageGroup(this, taken, count, resultAt, memory);
    taken += count;
    writer.taken(count);
    groups.add(group);
    server.load().taken(count);
    return group;
  }

  private void place(Messages messages, int from, int count) {
    if (places != null && count > 0) {
      submitShared(places, messages.message(from));
      return;
    }
    int placed = 0;
    while (placed < count) {
      int first = from + placed;
      ByteBuffer message = messages.message(first);
      placed +=
          blocks.place(
              messages,
              first,
              count - placed,
              channel.alloc(),
              (block, inputs, some) -> submit(inputs, some, message, block::release));
    }
  }

  private void submitShared(SharedPlaces in, ByteBuffer message) {
    message.order(ByteOrder.LITTLE_ENDIAN);
    int place = message.position() + layout.head();
    long resultAt = message.getLong(place + Long.BYTES);
    try {
      List<InputTensor> inputs = in.inputs(message, place, target.spec());
      in.use();
      submit(inputs, message, begin(1, resultAt, in::release));
    } catch (WireException e) {
      fail(e);
    }
  }

  private void submit(List<InputTensor> inputs, int count, ByteBuffer message, Runnable memory) {
    submit(inputs, message, begin(count, 0, memory));
  }

  /**
   * @param message the first of the group
   */
  private void submit(List<InputTensor> inputs, ByteBuffer message, MessageGroup group) {
    try {
      Inference inference = server.inference();
      InferenceRequest request =
          inference.request(
              target.model(),
              target.version(),
              inputs,
              deadlineNanos(message),
              caller,
              rights,
              group);
      server.load().submitted();
      group.submitted(inference.engine().submit(request));
    } catch (RuntimeException | Error e) { // it must end: its client would wait for ever
      server.warn("messages could not be submitted", e);
      group.fail(new WireException(WireStatus.INTERNAL, "the message could not be submitted"));
    }
  }

  private long deadlineNanos(ByteBuffer message) {
    long micros =
        layout.hasDeadline()
            ? message.order(ByteOrder.LITTLE_ENDIAN).getInt(message.position()) & NO_BUDGET
            : NO_BUDGET;
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
    cutter.close();
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
    if (cutter.isAmidMessage()) {
      end(
          End.TRUNCATED,
          WireStatus.INVALID_ARGUMENT,
          "the client's side ended in the middle of message %d: %d of %d bytes are missing"
              .formatted(taken, cutter.missing(), layout.bytes()));
      channel.flush();
    } else {
      beginEnd();
    }
  }

  /** The connection is gone. */
  void onClosed() {
    if (cutter.isAmidMessage() && !ending) {
      server.load().ended(End.TRUNCATED);
    }
    ending = true;
    cutter.close();
    server.blocks().close(target);
    if (places != null) {
      places.release();
    }
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
    return !ending && cutter.isAmidMessage();
  }

  /** Messages, ever. */
  long taken() {
    return taken;
  }

  /** Bytes of messages, ever. */
  long received() {
    return received;
  }

  void endStalled() {
    end(
        End.STALLED,
        WireStatus.DEADLINE_EXCEEDED,
        "message %d has not come whole within roundhouse.worker.server.stalled-message-timeout: %d of %d bytes are missing"
            .formatted(taken, cutter.missing(), layout.bytes()));
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
