package dev.roundhouse.transport.forward;

import dev.roundhouse.transport.forward.ForwardingBudget.Use;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.io.InputStream;
import java.util.ArrayList;
import java.util.List;

/**
 * What has come of a request, as long as it may have to be sent to another server. For one event
 * loop.
 */
final class KeptRequest {
  /** How much of a request is kept once it has been sent to a server. */
  private static final int MOST_BYTES = 4 << 20;

  private final ForwardingBudget memory;
  private final List<HeldPart> parts = new ArrayList<>(2);
  private int bytes;
  private boolean forgotten;

  KeptRequest(ForwardingBudget memory) {
    this.memory = memory;
  }

  /**
   * Keeps what has come, if the request can still be sent again.
   *
   * @param part one of its users is this
   * @param unsent whether no server has been asked, so that there is no other copy
   */
  void add(HeldPart part, boolean unsent) {
    bytes += part.bytes();
    boolean room = bytes <= MOST_BYTES && memory.hasRoom(Use.KEEP);
    if (!forgotten && (unsent || room)) {
      parts.add(part);
    } else {
      part.release();
      forget();
    }
  }

  /** The request cannot be sent again from here on. */
  void forget() {
    forgotten = true;
    parts.forEach(HeldPart::release);
    parts.clear();
  }

  /** False when part of what has come is not here any more. */
  boolean canBeSent() {
    return !forgotten;
  }

  /**
   * Sends what is here.
   *
   * @param last whether it is all of the request
   */
  void sendTo(UpstreamConnection.Exchange exchange, boolean last) {
    for (int i = 0; i < parts.size(); i++) {
      exchange.send(parts.get(i), last && i == parts.size() - 1);
    }
  }

  /** What is here, in place; borrowed. */
  ByteBuf data() {
    // empty ones would be released, and are not this method's to release
    return Unpooled.wrappedBuffer(
        parts.stream().map(HeldPart::data).filter(ByteBuf::isReadable).toArray(ByteBuf[]::new));
  }

  /** The first message, as long as the stream is open. */
  InputStream firstMessage() {
    return FirstMessage.stream(parts);
  }
}
