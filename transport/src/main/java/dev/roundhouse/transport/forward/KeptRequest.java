package dev.roundhouse.transport.forward;

import dev.roundhouse.transport.forward.ForwardingBudget.Use;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.io.InputStream;
import java.util.ArrayList;
import java.util.List;

/**
 * What has arrived of a request, while it may have to be sent to another server. For one event
 * loop.
 */
final class KeptRequest {
  /** The most that is kept once the request has been sent to a server. */
  private static final int MOST_BYTES = 4 << 20;

  private final ForwardingBudget memory;
  private final List<ForwardedChunk> parts = new ArrayList<>(2);
  private int bytes;
  private boolean forgotten;

  KeptRequest(ForwardingBudget memory) {
    this.memory = memory;
  }

  /**
   * Keeps a part, if the request can still be resent.
   *
   * @param part this becomes one of its users
   * @param unsent whether no server has been asked, so that there is no other copy
   */
  void add(ForwardedChunk part, boolean unsent) {
    bytes += part.bytes();
    boolean room = bytes <= MOST_BYTES && memory.hasRoom(Use.KEEP);
    if (!forgotten && (unsent || room)) {
      parts.add(part);
    } else {
      part.release();
      forget();
    }
  }

  /** The request cannot be resent from now on. */
  void forget() {
    forgotten = true;
    parts.forEach(ForwardedChunk::release);
    parts.clear();
  }

  /** False when part of the request has been discarded. */
  boolean canBeSent() {
    return !forgotten;
  }

  /**
   * Sends what is kept.
   *
   * @param last whether it is all of the request
   */
  void sendTo(UpstreamStream stream, boolean last) {
    for (int i = 0; i < parts.size(); i++) {
      stream.send(parts.get(i), last && i == parts.size() - 1);
    }
  }

  /** What is kept, in place; borrowed. */
  ByteBuf data() {
    // empty ones would be released, and are not this method's to release
    return Unpooled.wrappedBuffer(
        parts.stream()
            .map(ForwardedChunk::data)
            .filter(ByteBuf::isReadable)
            .toArray(ByteBuf[]::new));
  }

  /** The first message, valid while the stream is open. */
  InputStream firstMessage() {
    return FirstMessage.stream(parts);
  }
}
