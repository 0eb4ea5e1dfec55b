package dev.roundhouse.worker.transport.tstream;

import dev.roundhouse.engine.request.InferenceRequest;
import dev.roundhouse.engine.request.InputTensor;
import dev.roundhouse.kserve.codec.CallerHeader;
import dev.roundhouse.kserve.status.WireException;
import dev.roundhouse.kserve.status.WireStatus;
import dev.roundhouse.platform.tstream.HelloRefusedException;
import dev.roundhouse.transport.access.CallerRights;
import dev.roundhouse.transport.memory.ConnectionMemory;
import dev.roundhouse.transport.memory.Kept;
import dev.roundhouse.worker.transport.Inference;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.zip.CRC32C;
import org.jspecify.annotations.Nullable;

/**
 * The way in of a stream: what is read becomes messages, and those become requests. Belongs to the
 * stream's event loop.
 *
 * <p>Whole messages of one read are one request, as far as their rows fit a program.
 */
final class MessageIntake implements MessageCutter.Taker {
  private static final long NO_BUDGET = 0xffff_ffffL;

  private final OpenStream stream;
  private final StreamServer server;
  private final ByteBufAllocator allocator;
  private final @Nullable CallerRights rights;
  private final int caller;
  private final MessageLayout layout;
  private final MessageCutter cutter;
  private final RowBlocks blocks;

  /** In shared memory; null when messages carry their tensors. */
  private final @Nullable SharedPlaces places;

  /** Something is asked of each message before it is taken. */
  private final boolean isChecked;

  private StreamTarget target;

  /** Bytes of messages, ever. */
  private long received;

  MessageIntake(
      OpenStream stream,
      StreamServer server,
      ByteBufAllocator allocator,
      ConnectionMemory memory,
      Handshake.Agreed agreed) {
    this.stream = stream;
    this.server = server;
    this.allocator = allocator;
    rights = agreed.rights();
    caller = CallerHeader.caller(memory.peerNumber(), agreed.caller());
    target = agreed.target();
    places = agreed.places();
    layout = MessageLayout.of(target.spec(), agreed.options());
    isChecked = rights != null || layout.hasChecksum();
    blocks = server.blocks().open(target);
    cutter =
        new MessageCutter(
            layout, allocator, memory.of(Kept.MESSAGE), isChecked ? null : blocks, this);
  }

  MessageLayout layout() {
    return layout;
  }

  /**
   * @param read borrowed
   */
  void read(ByteBuf read) {
    received += read.readableBytes();
    cutter.read(read);
  }

  /** Where the next bytes had best be read to; null when any place is as good. */
  @Nullable ByteBuf lend() {
    return cutter.lend();
  }

  /** What was there has been read. */
  void onReadComplete() {
    cutter.onReadComplete();
  }

  @Override
  public void onMessages(Messages messages) {
    int count = messages.count();
    if (stream.isEnding() || !stream.hasWindow(count) || !isCurrent()) {
      return;
    }
    int most = layout.hasDeadline() || layout.isShared() ? 1 : target.mostTogether();
    int begun = 0;
    for (int at = 0; at < count; at++) {
      WireException refusal = isChecked ? refusal(messages.message(at)) : null;
      if (refusal != null) {
        place(messages, begun, at - begun);
        begun = at + 1;
        stream.fail(refusal);
      } else if (at + 1 - begun == most) {
        place(messages, begun, most);
        begun = at + 1;
      }
    }
    place(messages, begun, count - begun);
  }

  @Override
  public void onRows(int count) {
    if (!stream.isEnding() && stream.hasWindow(count) && isCurrent()) {
      blocks.submit(
          count,
          (block, inputs, some) ->
              submit(inputs, InferenceRequest.NO_DEADLINE, stream.begin(some, 0, block::release)));
    }
  }

  @Override
  public void onLarge(LargeMessage message) {
    if (stream.isEnding() || !stream.hasWindow(1) || !isCurrent()) {
      message.release();
      return;
    }
    ByteBuffer bytes;
    List<InputTensor> inputs;
    try {
      bytes = message.bytes();
      WireException refusal = isChecked ? refusal(bytes) : null;
      if (refusal != null) {
        message.release();
        stream.fail(refusal);
        return;
      }
      inputs = message.inputs();
    } catch (Throwable e) {
      message.release();
      throw e;
    }
    submit(inputs, deadlineNanos(bytes), stream.begin(1, 0, message::release));
  }

  @Override
  public void onForgotten(String why) {
    if (!stream.isEnding() && stream.hasWindow(1)) {
      stream.fail(new WireException(WireStatus.RESOURCE_EXHAUSTED, why));
    }
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
      stream.onReplaced(next);
      return true;
    }
    stream.endReplaced(
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

  private void place(Messages messages, int from, int count) {
    if (places != null && count > 0) {
      submitShared(places, messages.message(from));
      return;
    }
    int placed = 0;
    while (placed < count) {
      int first = from + placed;
      long deadlineNanos =
          layout.hasDeadline()
              ? deadlineNanos(messages.message(first))
              : InferenceRequest.NO_DEADLINE;
      placed +=
          blocks.place(
              messages,
              first,
              count - placed,
              allocator,
              (block, inputs, some) ->
                  submit(inputs, deadlineNanos, stream.begin(some, 0, block::release)));
    }
  }

  private void submitShared(SharedPlaces in, ByteBuffer message) {
    message.order(ByteOrder.LITTLE_ENDIAN);
    int place = message.position() + layout.head();
    long resultAt = message.getLong(place + Long.BYTES);
    try {
      List<InputTensor> inputs = in.inputs(message, place, target.spec());
      in.use();
      submit(inputs, deadlineNanos(message), stream.begin(1, resultAt, in::release));
    } catch (WireException e) {
      stream.fail(e);
    }
  }

  private void submit(List<InputTensor> inputs, long deadlineNanos, MessageGroup group) {
    try {
      Inference inference = server.inference();
      InferenceRequest request =
          inference.request(
              target.model(), target.version(), inputs, deadlineNanos, caller, rights, group);
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

  // --- what has begun to come

  /** A message has begun to come and is not whole. */
  boolean isAmidMessage() {
    return cutter.isAmidMessage();
  }

  /** Of the message that has begun to come, as people read it. */
  String missing() {
    return "%d of %d bytes are missing".formatted(cutter.missing(), layout.bytes());
  }

  /** Bytes of messages, ever. */
  long received() {
    return received;
  }

  /** What has begun to come is forgotten. Harmless when repeated. */
  void endInput() {
    cutter.close();
  }

  /** The connection is gone. */
  void close() {
    cutter.close();
    server.blocks().close(target);
    if (places != null) {
      places.release();
    }
  }
}
