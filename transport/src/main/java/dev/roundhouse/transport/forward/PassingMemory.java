package dev.roundhouse.transport.forward;

import dev.roundhouse.transport.io.PartSizes;
import dev.roundhouse.transport.memory.ConnectionMemory;
import dev.roundhouse.transport.memory.Kept;
import org.jspecify.annotations.Nullable;

/**
 * What one forwarded HTTP request takes of the memory for all of them, and of its client's share:
 * from the start, the kept part of its body and what passes at a time; while one side does not
 * read, also what may then pile up. For one event loop.
 */
final class PassingMemory {
  /** Bytes in transit at a time of an answer, or of a body that is passed on. */
  private static final int PASSING_BYTES = 32 << 10;

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
   * Takes a request's minimum.
   *
   * @param kept bytes of its body
   * @param goesOn whether there may be more
   * @return null when taken; otherwise why not, for the client
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
      client.charge(Kept.BODY, wanted);
      bytes = wanted;
    }
    return refusal;
  }

  /** Whether the server takes what the client sends has changed. */
  void bodyIsHeldUp(boolean heldUp) {
    count(Kept.BODY, isBodyHeldUp, heldUp);
    isBodyHeldUp = heldUp;
  }

  /** Whether the client takes what the server answers has changed. */
  void answerIsHeldUp(boolean heldUp) {
    count(Kept.ANSWER, isAnswerHeldUp, heldUp);
    isAnswerHeldUp = heldUp;
  }

  private void count(Kept kind, boolean before, boolean now) {
    if (now && !before) {
      client.add(kind, PartSizes.HELD_UP_BYTES);
    } else if (before && !now) {
      client.giveBack(kind, PartSizes.HELD_UP_BYTES);
    }
  }

  /** Gives everything back. */
  void close() {
    bodyIsHeldUp(false);
    answerIsHeldUp(false);
    if (bytes > 0) {
      client.discharge(Kept.BODY, bytes);
      memory.giveBack(bytes);
      bytes = 0;
    }
  }
}
