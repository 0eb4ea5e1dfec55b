package dev.roundhouse.worker.transport.tstream;

import dev.roundhouse.kserve.tstream.StreamOption;
import dev.roundhouse.kserve.tstream.StreamSpec;
import java.util.Set;

/**
 * Where things stand in each message of a stream.
 *
 * @param head bytes before its tensors
 * @param bytes all of it
 * @param hasChecksum it ends with one
 */
record MessageLayout(StreamSpec spec, int head, int bytes, boolean hasChecksum) {
  static final int CHECKSUM_BYTES = Integer.BYTES;
  private static final int DEADLINE_BYTES = Integer.BYTES;

  static MessageLayout of(StreamSpec spec, Set<StreamOption> options) {
    int head = options.contains(StreamOption.DEADLINE) ? DEADLINE_BYTES : 0;
    boolean hasChecksum = options.contains(StreamOption.CHECKSUM);
    int tail = hasChecksum ? CHECKSUM_BYTES : 0;
    return new MessageLayout(
        spec, head, Math.addExact(head + tail, spec.requestBytes()), hasChecksum);
  }

  boolean hasDeadline() {
    return head > 0;
  }

  int inputOffset(int input) {
    return head + spec.inputOffset(input);
  }
}
