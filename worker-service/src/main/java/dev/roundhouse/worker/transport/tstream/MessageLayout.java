package dev.roundhouse.worker.transport.tstream;

import dev.roundhouse.kserve.tstream.StreamOption;
import dev.roundhouse.kserve.tstream.StreamSpec;
import java.util.Set;

/**
 * Where things stand in each message of a stream.
 *
 * @param head bytes before its tensors, or what says where they are
 * @param bytes all of it
 * @param hasChecksum it ends with one
 * @param isShared it says where in shared memory its tensors are, and has none
 */
record MessageLayout(StreamSpec spec, int head, int bytes, boolean hasChecksum, boolean isShared) {
  static final int CHECKSUM_BYTES = Integer.BYTES;
  private static final int DEADLINE_BYTES = Integer.BYTES;

  static MessageLayout of(StreamSpec spec, Set<StreamOption> options) {
    int head = options.contains(StreamOption.DEADLINE) ? DEADLINE_BYTES : 0;
    boolean hasChecksum = options.contains(StreamOption.CHECKSUM);
    int tail = hasChecksum ? CHECKSUM_BYTES : 0;
    boolean isShared = options.contains(StreamOption.SHARED_MEMORY);
    int between = isShared ? SharedPlaces.BYTES : spec.requestBytes();
    return new MessageLayout(
        spec, head, Math.addExact(head + tail, between), hasChecksum, isShared);
  }

  boolean hasDeadline() {
    return head > 0;
  }

  /** A message is one row of one tensor and nothing else. */
  boolean isRow() {
    return !isShared && bytes == spec.requestBytes() && spec.inputs().size() == 1 && isFilled();
  }

  private boolean isFilled() {
    return spec.inputOffset(0) == 0 && spec.inputs().getFirst().byteSize() == bytes;
  }

  int inputOffset(int input) {
    return head + spec.inputOffset(input);
  }
}
