package dev.roundhouse.transport.forward;

import dev.roundhouse.transport.memory.ConnectionMemory;
import dev.roundhouse.transport.memory.Kept;
import org.jspecify.annotations.Nullable;

/**
 * What one request over HTTP holds of the memory that all that are sent on have, and of its
 * client's share of it: from the start what is kept of its body and what passes at a time; while a
 * side does not take what the other has sent, what may then be here. For one event loop.
 */
final class PassingMemory {
  /** Of an answer, or of a body that is passed on, that is here at a time. */
  private static final int PASSING_BYTES = 32 << 10;

  /** What may have been written to a socket that takes no more, and one read. */
  private static final int HELD_UP_BYTES = 128 << 10;

  private final ForwardingBudget memory;
  private final ConnectionMemory client;
  private long bytes;
  private boolean isBodyHeldUp;
  private boolean isAnswerHeldUp;

  PassingMemory(ForwardingBudget memory, ConnectionMemory client) {
    this.memory = memory;
    this.client = client;
  }

  /**
   * Takes what a request needs at least.
   *
   * @param kept bytes of its body
   * @param goesOn whether there may be more of it
   * @return null when it was taken; otherwise why not, for the client
   */
  @Nullable String take(int kept, boolean goesOn) {
    long wanted = kept + (goesOn ? 2L : 1L) * PASSING_BYTES;
    String refusal = memory.take(wanted);
    if (refusal == null) {
      refusal = client.overShare(wanted);
      if (refusal != null) {
        memory.giveBack(wanted);
      }
    }
    if (refusal == null) {
      client.own(Kept.BODY, wanted);
      bytes = wanted;
    }
    return refusal;
  }

  /** The server takes what the client sends, or does not. */
  void bodyIsHeldUp(boolean heldUp) {
    count(Kept.BODY, isBodyHeldUp, heldUp);
    isBodyHeldUp = heldUp;
  }

  /** The client takes what the server answers, or does not. */
  void answerIsHeldUp(boolean heldUp) {
    count(Kept.ANSWER, isAnswerHeldUp, heldUp);
    isAnswerHeldUp = heldUp;
  }

  private void count(Kept kind, boolean before, boolean now) {
    if (now && !before) {
      client.add(kind, HELD_UP_BYTES);
    } else if (before && !now) {
      client.giveBack(kind, HELD_UP_BYTES);
    }
  }

  /** Gives all back. */
  void close() {
    bodyIsHeldUp(false);
    answerIsHeldUp(false);
    if (bytes > 0) {
      client.disown(Kept.BODY, bytes);
      memory.giveBack(bytes);
      bytes = 0;
    }
  }
}
