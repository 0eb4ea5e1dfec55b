package dev.roundhouse.worker.transport.v1;

import dev.roundhouse.kserve.codec.MessageMemory;
import dev.roundhouse.kserve.status.WireException;
import java.nio.ByteBuffer;
import java.util.List;

/**
 * The entries of {@code raw_input}. Inputs in shared memory have none, or, where there are as many
 * entries as inputs, empty ones.
 */
final class MessageInputs implements RawInputs {
  private final List<ByteBuffer> entries;
  private final MessageMemory memory;
  private final boolean hasAll;
  private int next;

  /**
   * @param entries read-only
   * @param memory of the entries
   * @param inputs that the request names
   */
  MessageInputs(List<ByteBuffer> entries, MessageMemory memory, int inputs) {
    this.entries = entries;
    this.memory = memory;
    hasAll = entries.size() == inputs;
  }

  @Override
  public ByteBuffer next(String input, long byteSize) {
    if (next == entries.size()) {
      throw WireException.invalidArgument(
          "raw_input has %d entries and none for input '%s'; send one for each input that is not in shared memory"
              .formatted(entries.size(), input));
    }
    ByteBuffer entry = entries.get(next++);
    if (byteSize != UNKNOWN && byteSize != entry.remaining()) {
      throw WireException.invalidArgument(
          "input '%s' has %d bytes in raw_input, and batch_byte_size, dims and batch_size make %d"
              .formatted(input, entry.remaining(), byteSize));
    }
    return entry;
  }

  @Override
  public MessageMemory memory() {
    return memory;
  }

  @Override
  public void skip(String input) {
    if (hasAll && entries.get(next++).hasRemaining()) {
      throw WireException.invalidArgument(
          "input '%s' has %d bytes in raw_input and is in shared memory; send it once"
              .formatted(input, entries.get(next - 1).remaining()));
    }
  }

  @Override
  public void requireEnd() {
    if (next < entries.size()) {
      throw WireException.invalidArgument(
          "raw_input has %d entries for %d inputs that are not in shared memory; leave out the rest"
              .formatted(entries.size(), next));
    }
  }
}
