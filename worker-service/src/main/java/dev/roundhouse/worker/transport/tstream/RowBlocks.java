package dev.roundhouse.worker.transport.tstream;

import dev.roundhouse.engine.request.InputTensor;
import dev.roundhouse.kserve.tstream.StreamSpec;
import dev.roundhouse.transport.memory.MemoryRoot;
import io.netty.buffer.ByteBufAllocator;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Where small messages to one model lie until they are over, of whichever connection: in the order
 * in which they become requests, so that the rows of a batch adjoin and need no further copy.
 * Thread-safe.
 *
 * <p>Memory is held for messages under way only. Blocks grow while they fill up faster than they
 * are used up: two batches of three lie in one block then, and more of larger blocks.
 */
final class RowBlocks {
  private static final long FIRST_BYTES = 64 << 10;
  private static final long MOST_BYTES = 2 << 20;

  private final StreamSpec spec;
  private final int together;
  private final MemoryRoot memory;
  private final int mostMessages;
  private int messages;
  private @Nullable RowBlock filling;

  /**
   * @param together messages that fill a batch: no request crosses from those of one batch into
   *     those of the next, so that requests of any sizes add up to whole batches
   */
  RowBlocks(StreamSpec spec, int together, MemoryRoot memory) {
    this.spec = spec;
    this.together = together;
    this.memory = memory;
    mostMessages = fitting(MOST_BYTES);
    messages = fitting(FIRST_BYTES);
  }

  private int fitting(long bytes) {
    int fitting = (int) Math.max(1, bytes / Math.max(1, spec.requestBytes()));
    return fitting < together ? fitting : fitting - fitting % together;
  }

  /** Makes a request of what was placed. */
  @FunctionalInterface
  interface Submit {
    /**
     * @param block its user has become one for the request
     */
    void submit(RowBlock block, List<InputTensor> inputs, int count);
  }

  /**
   * Copies messages to where they stay and has them submitted, before anybody else's.
   *
   * @return how many those are: fewer than there are when a block or a batch is full
   */
  synchronized int place(
      Messages from, int first, int count, ByteBufAllocator allocator, Submit submit) {
    RowBlock block = block(allocator, count);
    int some = Math.min(Math.min(count, block.left()), together - block.used() % together);
    List<InputTensor> inputs;
    try {
      inputs = block.add(from, first, some);
    } catch (Throwable e) {
      block.release();
      throw e;
    }
    submit.submit(block, inputs, some);
    return some;
  }

  /** One that has room; the caller is a user of it. */
  private RowBlock block(ByteBufAllocator allocator, int count) {
    RowBlock known = filling;
    if (known != null && known.use()) {
      if (known.left() > 0) {
        return known;
      }
      known.release();
      messages = Math.min(fitting(2L * messages * spec.requestBytes()), mostMessages);
    }
    filling = null;
    long bytes = RowBlock.bytes(spec, messages);
    if (!memory.take(bytes)) {
      // too little is left for others to come; these are counted as any request is
      return RowBlock.allocate(spec, Math.min(count, messages), allocator, false, () -> {});
    }
    try {
      filling = RowBlock.allocate(spec, messages, allocator, true, () -> memory.giveBack(bytes));
      return filling;
    } catch (Throwable e) {
      memory.giveBack(bytes);
      throw e;
    }
  }
}
