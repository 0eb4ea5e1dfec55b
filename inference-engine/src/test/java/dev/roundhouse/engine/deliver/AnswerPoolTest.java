package dev.roundhouse.engine.deliver;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.tuple;

import dev.roundhouse.engine.recording.AnswerMemoryEvent;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.LongSummaryStatistics;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.stream.Stream;
import jdk.jfr.Recording;
import jdk.jfr.consumer.RecordingFile;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class AnswerPoolTest {
  private static final long KEPT = 1 << 20;

  private final AnswerPool pool = new AnswerPool(KEPT);

  @AfterEach
  void close() {
    pool.close();
  }

  @Test
  void shouldFindTheSmallestClassThatHoldsAnAnswerAndWasteAQuarterAtMost() {
    long seed = System.nanoTime();
    Random random = new Random(seed);
    for (int i = 0; i < 100_000; i++) {
      long bytes = i < 20_000 ? i + 1 : 1 + random.nextLong(1L << (1 + random.nextInt(45)));
      int index = AnswerPool.index(bytes);
      long block = AnswerPool.blockBytes(index);
      assertThat(block)
          .as("seed %d: block for %d bytes", seed, bytes)
          .isGreaterThanOrEqualTo(bytes);
      if (index > 0) {
        assertThat(AnswerPool.blockBytes(index - 1))
            .as("seed %d: the class below, for %d bytes", seed, bytes)
            .isLessThan(bytes);
        assertThat(block - bytes).as("wasted for %d", bytes).isLessThanOrEqualTo(bytes / 4);
      }
      assertThat(AnswerPool.index(block)).isEqualTo(index);
      assertThat(AnswerPool.index(block + 1)).isEqualTo(index + 1);
    }
  }

  @Test
  void shouldTellFlightRecorderOfMemoryThatComesAndGoes(@TempDir Path folder) throws Exception {
    long bytes = AnswerPool.blockBytes(AnswerPool.index(KEPT * 2 / 3));
    try (Recording recording = new Recording()) {
      recording.enable(AnswerMemoryEvent.class);
      recording.start();
      List<AnswerPool.Block> two = List.of(pool.take(bytes), pool.take(bytes));
      two.forEach(AnswerPool.Block::giveBack);
      pool.take(bytes).giveBack();
      recording.stop();
      recording.dump(folder.resolve("pool.jfr"));
    }
    assertThat(RecordingFile.readAllEvents(folder.resolve("pool.jfr")))
        .extracting(
            each -> each.getLong("bytes"),
            each -> each.getBoolean("freed"),
            each -> each.getLong("idleBytes"))
        .containsExactly(
            tuple(bytes, false, 0L), tuple(bytes, false, 0L), tuple(bytes, true, bytes));
  }

  @Test
  void shouldUseABlockAgainThatWasGivenBack() {
    AnswerPool.Block first = pool.take(100_000);
    MemorySegment memory = first.memory();
    assertThat(memory.byteSize()).isGreaterThanOrEqualTo(100_000);
    assertThat(memory.address() % 64).isZero();
    assertThat(pool.blocksInUse()).isEqualTo(1);
    first.giveBack();
    assertThat(pool.blocksInUse()).isZero();
    assertThat(pool.idleBytes()).isEqualTo(memory.byteSize());
    AnswerPool.Block second = pool.take(memory.byteSize());
    assertThat(second.memory().address()).isEqualTo(memory.address());
    assertThat(pool.idleBytes()).isZero();
    AnswerPool.Block third = pool.take(100_000);
    assertThat(third.memory().address()).isNotEqualTo(memory.address());
    second.giveBack();
    third.giveBack();
  }

  @Test
  void shouldKeepNoMoreIdleThanItMay() {
    List<AnswerPool.Block> blocks = new ArrayList<>();
    for (int i = 0; i < 40; i++) {
      blocks.add(pool.take(100_000));
    }
    blocks.forEach(AnswerPool.Block::giveBack);
    assertThat(pool.idleBytes()).isBetween(KEPT - blocks.getFirst().memory().byteSize(), KEPT);
    long freed = blocks.stream().filter(block -> !block.memory().scope().isAlive()).count();
    assertThat(freed)
        .as("given back to the system")
        .isEqualTo(40 - pool.idleBytes() / AnswerPool.blockBytes(AnswerPool.index(100_000)));
    pool.close();
    assertThat(pool.idleBytes()).isZero();
    assertThat(blocks).noneMatch(block -> block.memory().scope().isAlive());
  }

  @Test
  void shouldFreeAtOnceWhatIsGivenBackAfterItWasClosed() {
    AnswerPool.Block small = pool.take(10);
    AnswerPool.Block large = pool.take(10_000);
    pool.close();
    assertThat(large.memory().scope().isAlive()).as("somebody reads it").isTrue();
    assertThat(small.memory().scope().isAlive()).isTrue();
    large.giveBack();
    assertThat(large.memory().scope().isAlive()).isFalse();
    small.giveBack();
    assertThat(small.memory().scope().isAlive()).isFalse();
  }

  @Test
  void shouldLoseNoSmallBlockHoweverManyThereAre() {
    Set<Long> addresses = new HashSet<>();
    List<AnswerPool.Block> blocks = new ArrayList<>();
    for (int i = 0; i < 10_000; i++) {
      AnswerPool.Block block = pool.take(60);
      assertThat(block.memory().byteSize()).isEqualTo(64);
      assertThat(addresses.add(block.memory().address())).as("in use by one").isTrue();
      blocks.add(block);
    }
    for (int round = 0; round < 5; round++) {
      blocks.forEach(AnswerPool.Block::giveBack);
      blocks.clear();
      for (int i = 0; i < 10_000; i++) {
        AnswerPool.Block block = pool.take(64);
        addresses.add(block.memory().address());
        blocks.add(block);
      }
    }
    int ofThreeSlabs = 3 * (256 << 10) / 64;
    assertThat(addresses).hasSizeBetween(10_000, ofThreeSlabs);
    assertThat(pool.idleBytes()).as("slabs are not counted").isZero();
    blocks.forEach(AnswerPool.Block::giveBack);
  }

  @Test
  void shouldCutBlocksFromSlabsWithoutOverlap() {
    for (long bytes : new long[] {64, 80, 200, 1_000, 4_096}) {
      List<AnswerPool.Block> blocks = new ArrayList<>();
      for (int i = 0; i < 300; i++) {
        AnswerPool.Block block = pool.take(bytes);
        assertThat(block.memory().address() % 64).isZero();
        block.memory().fill((byte) i);
        blocks.add(block);
      }
      for (int i = 0; i < 300; i++) {
        MemorySegment memory = blocks.get(i).memory();
        assertThat(memory.get(ValueLayout.JAVA_BYTE, 0)).isEqualTo((byte) i);
        assertThat(memory.get(ValueLayout.JAVA_BYTE, memory.byteSize() - 1)).isEqualTo((byte) i);
      }
      blocks.forEach(AnswerPool.Block::giveBack);
    }
  }

  @Test
  void shouldCutASlabIntoBlocksWithoutGaps() {
    LongSummaryStatistics addresses =
        Stream.generate(() -> pool.take(64))
            .limit(64)
            .mapToLong(block -> block.memory().address())
            .summaryStatistics();
    assertThat(addresses.getMax() - addresses.getMin()).isEqualTo(63 * 64);
  }

  @Test
  void shouldCutBlocksOfUpTo4096BytesFromSlabsWhichStay() {
    pool.take(4096).giveBack();
    assertThat(pool.idleBytes()).isZero();
    pool.take(4097).giveBack();
    assertThat(pool.idleBytes()).isEqualTo(AnswerPool.blockBytes(AnswerPool.index(4097)));
  }

  @Test
  void shouldKeepAsMuchIdleAsItMay() {
    pool.take(KEPT).giveBack();
    assertThat(pool.idleBytes()).isEqualTo(KEPT);
  }

  @Test
  void shouldFreeItsSlabsWhenItIsClosedAndNothingIsInUse() {
    AnswerPool.Block block = pool.take(10);
    block.giveBack();
    assertThat(block.memory().scope().isAlive()).isTrue();
    pool.close();
    assertThat(block.memory().scope().isAlive()).isFalse();
  }

  @Test
  void shouldGiveEachBlockToOneAtATimeUnderManyThreads() {
    long seed = System.nanoTime();
    List<CompletableFuture<Void>> threads = new ArrayList<>();
    for (int thread = 0; thread < 4; thread++) {
      long mark = thread + 1L;
      threads.add(CompletableFuture.runAsync(() -> takeAndGiveBack(new Random(seed + mark), mark)));
    }
    try {
      threads.forEach(CompletableFuture::join);
    } catch (CompletionException e) {
      throw new AssertionError("seed " + seed, e);
    }
    assertThat(pool.blocksInUse()).isZero();
    assertThat(pool.idleBytes()).isBetween(0L, KEPT);
  }

  private void takeAndGiveBack(Random random, long mark) {
    ArrayDeque<AnswerPool.Block> held = new ArrayDeque<>();
    for (int i = 0; i < 20_000; i++) {
      if (held.size() > 50 || (!held.isEmpty() && random.nextBoolean())) {
        AnswerPool.Block block = held.remove();
        MemorySegment memory = block.memory();
        assertThat(memory.get(ValueLayout.JAVA_LONG, 0)).isEqualTo(mark);
        assertThat(memory.get(ValueLayout.JAVA_LONG, memory.byteSize() - 8)).isEqualTo(mark);
        block.giveBack();
      } else {
        AnswerPool.Block block = pool.take(1 + random.nextInt(i % 50 == 0 ? 50_000 : 300));
        MemorySegment memory = block.memory();
        memory.set(ValueLayout.JAVA_LONG, 0, mark);
        memory.set(ValueLayout.JAVA_LONG, memory.byteSize() - 8, mark);
        held.add(block);
      }
    }
    held.forEach(AnswerPool.Block::giveBack);
  }
}
