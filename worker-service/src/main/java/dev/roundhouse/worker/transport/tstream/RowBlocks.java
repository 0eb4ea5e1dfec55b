package dev.roundhouse.worker.transport.tstream;

import dev.roundhouse.engine.request.InputTensor;
import dev.roundhouse.kserve.tstream.StreamSpec;
import dev.roundhouse.transport.memory.MemoryRoot;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
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

  /** That the system reads at once, in the place of rows. */
  private static final int LENT_BYTES = 256 << 10;

  /** For a read of another loop, which takes microseconds. */
  private static final long PATIENCE_MILLIS = 100;

  private final StreamSpec spec;
  private final int together;
  private final MemoryRoot memory;
  private final int mostMessages;

  /** Held until messages are submitted, and while the system reads them. */
  private final ReentrantLock lock = new ReentrantLock();

  private int messages;
  private @Nullable RowBlock filling;

  /** Read into by who holds the lock, as a user of it. */
  private @Nullable RowBlock lent;

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
  int place(Messages from, int first, int count, ByteBufAllocator allocator, Submit submit) {
    boolean isTurn = awaitTurn();
    try {
      RowBlock block = isTurn ? shared(allocator) : null;
      if (block == null) {
        // no later message joins these, which are counted as any request is
        int most = Math.min(count, messages);
        block = RowBlock.allocate(spec, most, allocator, false, () -> {});
      }
      int some = together(block, Math.min(count, block.left()));
      List<InputTensor> inputs;
      try {
        block.copy(from, first, some);
        inputs = block.add(some);
      } catch (Throwable e) {
        block.release();
        throw e;
      }
      submit.submit(block, inputs, some);
      return some;
    } finally {
      if (isTurn) {
        lock.unlock();
      }
    }
  }

  /** False after too long: the loop that was lent the blocks has died, or gets no processor. */
  private boolean awaitTurn() {
    try {
      return lock.tryLock(PATIENCE_MILLIS, TimeUnit.MILLISECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return false;
    }
  }

  /** So many of {@code count} as are of one batch. */
  private int together(RowBlock block, int count) {
    return Math.min(count, together - block.used() % together);
  }

  // --- read straight to their place

  /**
   * Where the system may read messages to that are nothing but a row. Nobody else's find their
   * place until {@link #returned}, which is called by the same thread.
   *
   * @param head bytes of the first that have come already
   * @return the taker's to release; null when they are to be read elsewhere
   */
  @Nullable ByteBuf lend(int head, ByteBufAllocator allocator) {
    assert !lock.isHeldByCurrentThread() : "a stream did not return what it was lent";
    if (!lock.tryLock()) { // a stream of another loop has them
      return null;
    }
    ByteBuf place = null;
    try {
      RowBlock block = shared(allocator);
      if (block != null) {
        lent = block;
        place = block.lend(head, Math.max(1, LENT_BYTES / spec.requestBytes()));
      }
      return place;
    } finally {
      if (place == null) {
        returned();
      }
    }
  }

  /** Puts the bytes of a message that came before to where {@link #lend} left room for them. */
  void head(ByteBuf begun) {
    lent().head(begun);
  }

  /** Has messages submitted that were read to where {@link #lend} said. */
  void submit(int count, Submit submit) {
    RowBlock block = lent();
    int submitted = 0;
    while (submitted < count) {
      int some = together(block, count - submitted);
      List<InputTensor> inputs = block.add(some);
      boolean isUsed = block.use();
      assert isUsed : "the borrower is a user";
      submit.submit(block, inputs, some);
      submitted += some;
    }
  }

  private RowBlock lent() {
    return Objects.requireNonNull(lent);
  }

  /** Ends a loan. */
  void returned() {
    RowBlock block = lent;
    lent = null;
    lock.unlock();
    if (block != null) {
      block.release();
    }
  }

  /** One that has room, of which the caller becomes a user; null when there is no memory for it. */
  private @Nullable RowBlock shared(ByteBufAllocator allocator) {
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
      return null;
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
