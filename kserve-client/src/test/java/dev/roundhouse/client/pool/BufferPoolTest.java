package dev.roundhouse.client.pool;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Who gets which slots, and when. */
@Timeout(30)
class BufferPoolTest {
  private static final Duration LONG = Duration.ofSeconds(20);
  private static final Duration NONE = Duration.ZERO;
  private static final ExecutorService VIRTUAL = Executors.newVirtualThreadPerTaskExecutor();

  private final Arena arena = Arena.ofShared();
  private final BufferPool pool = BufferPool.allocate(arena, 8 * 128, 8);

  @AfterEach
  void close() {
    arena.close();
  }

  @Test
  void shouldHandOutSpansThatDoNotOverlap() throws Exception {
    Span three = pool.acquire(3, NONE);
    Span five = pool.acquire(5, NONE);
    assertThat(three.offset()).isZero();
    assertThat(three.byteSize()).isEqualTo(3 * 128);
    assertThat(five.offset()).isEqualTo(3 * 128);
    assertThat(pool.freeSlots()).isZero();
    three.close();
    five.close();
    assertThat(pool.freeSlots()).isEqualTo(8);
  }

  @Test
  void shouldFindTheFirstGapThatIsLargeEnough() throws Exception {
    List<Span> all = new ArrayList<>();
    for (int i = 0; i < 8; i++) {
      all.add(pool.acquire(1, NONE));
    }
    for (int free : List.of(1, 3, 4, 6)) {
      all.get(free).close();
    }
    Span two = pool.acquire(2, NONE);
    assertThat(two.offset()).isEqualTo(3 * 128);
    assertThatThrownBy(() -> pool.acquire(2, NONE))
        .as("two are free, apart from each other")
        .isInstanceOfSatisfying(
            PoolTimeoutException.class, timeout -> assertThat(timeout.slots()).isEqualTo(2));
    assertThat(pool.freeSlots()).isEqualTo(2);
  }

  @Test
  void shouldServeWhoWaitsInOrder() throws Exception {
    Span all = pool.acquire(8, NONE);
    List<String> served = new CopyOnWriteArrayList<>();
    Future<?> many = waiter(8, "many", served); // so that few must wait for it to be done
    awaitWaiting(1);
    Future<?> few = waiter(1, "few", served);
    awaitWaiting(2);
    all.close();
    many.get(20, TimeUnit.SECONDS);
    few.get(20, TimeUnit.SECONDS);
    assertThat(served).containsExactly("many", "few");
    assertThat(pool.freeSlots()).isEqualTo(8);
  }

  @Test
  void shouldNotLetFewPassManyThatWait() throws Exception {
    Span seven = pool.acquire(7, NONE);
    List<String> served = new CopyOnWriteArrayList<>();
    Future<?> many = waiter(2, "many", served);
    awaitWaiting(1);
    assertThatThrownBy(() -> pool.acquire(1, Duration.ofMillis(5)))
        .as("one is free, and another came first")
        .isInstanceOf(PoolTimeoutException.class)
        .hasMessageContaining("no 1 slots")
        .hasMessageContaining("5 ms");
    assertThat(many).isNotDone();
    seven.close();
    many.get(20, TimeUnit.SECONDS);
    assertThat(served).containsExactly("many");
  }

  @Test
  void shouldServeThoseBehindOneThatHasGivenUp() throws Exception {
    Span seven = pool.acquire(7, NONE);
    List<String> served = new CopyOnWriteArrayList<>();
    Thread impatient =
        Thread.ofVirtual()
            .start(
                () -> {
                  try {
                    pool.acquire(2, LONG);
                  } catch (PoolTimeoutException | InterruptedException e) {
                    served.add(e.getClass().getSimpleName());
                  }
                });
    awaitWaiting(1);
    Future<?> few = waiter(1, "few", served);
    awaitWaiting(2);
    impatient.interrupt();
    few.get(20, TimeUnit.SECONDS);
    impatient.join();
    assertThat(served).containsExactlyInAnyOrder("InterruptedException", "few");
    assertThat(pool.freeSlots()).isEqualTo(1);
    seven.close();
  }

  @Test
  void shouldRefuseWhatItCouldNeverHandOut() {
    assertThatThrownBy(() -> pool.acquire(9, LONG))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage("a span has 1 to 8 slots, got 9");
    assertThatThrownBy(() -> pool.acquire(0, LONG)).hasMessageContaining("got 0");
    assertThat(pool.slotsFor(0)).isEqualTo(1);
    assertThat(pool.slotsFor(128)).isEqualTo(1);
    assertThat(pool.slotsFor(129)).isEqualTo(2);
    assertThatThrownBy(() -> pool.slotsFor(8 * 128 + 1))
        .hasMessage("1025 bytes do not fit into a pool of 8 slots of 128 bytes");
    assertThatThrownBy(() -> BufferPool.allocate(arena, 100, 2)).hasMessageContaining("100 bytes");
    assertThatThrownBy(() -> BufferPool.allocate(arena, 100, 0)).hasMessageContaining("got 0");
  }

  @Test
  void shouldCarvePiecesThatDoNotOverlap() throws Exception {
    pool.acquire(1, NONE);
    Span span = pool.acquire(2, NONE);
    MemorySegment first = span.carve(3, 1);
    MemorySegment second = span.carve(16, 8);
    assertThat(span.offsetOf(first)).isEqualTo(128);
    assertThat(span.offsetOf(second)).isEqualTo(128 + 8);
    second.fill((byte) 7);
    assertThat(first.get(ValueLayout.JAVA_BYTE, 2)).isZero();
    assertThatThrownBy(() -> span.carve(256 - 24 + 1, 1))
        .hasMessage("233 bytes do not fit behind the first 24 of a span of 256");
    assertThatThrownBy(() -> span.carve(1, 3)).hasMessageContaining("power of two, got 3");
    assertThat(span.carve(256 - 24, 1).byteSize()).isEqualTo(232);
  }

  @Test
  void shouldRefuseToTakeASpanBackTwice() throws Exception {
    Span span = pool.acquire(2, NONE);
    span.close();
    assertThatThrownBy(span::close).isInstanceOf(IllegalStateException.class);
    assertThatThrownBy(() -> span.carve(1, 1)).hasMessage("the span has been given back");
    assertThat(pool.freeSlots()).isEqualTo(8);
  }

  /** Each writes its own mark over its whole span, and finds it there afterwards. */
  @Test
  void shouldNeverGiveASlotToTwo() throws Exception {
    List<CompletableFuture<Void>> all = new ArrayList<>();
    for (int worker = 1; worker <= 16; worker++) {
      int mark = worker;
      CompletableFuture<Void> done = new CompletableFuture<>();
      all.add(done);
      Thread.ofVirtual()
          .start(
              () -> {
                try {
                  Random random = new Random(mark);
                  for (int round = 0; round < 300; round++) {
                    useSpan(1 + random.nextInt(8), (byte) mark);
                  }
                  done.complete(null);
                } catch (Throwable e) {
                  done.completeExceptionally(e);
                }
              });
    }
    for (CompletableFuture<Void> each : all) {
      each.get(20, TimeUnit.SECONDS);
    }
    assertThat(pool.freeSlots()).isEqualTo(8);
  }

  private void useSpan(int count, byte mark) throws Exception {
    try (Span span = pool.acquire(count, LONG)) {
      MemorySegment bytes = span.carve(span.byteSize(), 1);
      bytes.fill(mark);
      Thread.yield();
      for (long i = 0; i < bytes.byteSize(); i++) {
        assertThat(bytes.get(ValueLayout.JAVA_BYTE, i)).isEqualTo(mark);
      }
    }
  }

  /** Done once its span is given back. */
  private Future<?> waiter(int count, String name, List<String> served) {
    return VIRTUAL.submit(
        () -> {
          try (Span span = pool.acquire(count, LONG)) {
            served.add(name);
            assertThat(span.byteSize()).isEqualTo(count * 128L);
          }
          return null;
        });
  }

  private void awaitWaiting(int count) throws InterruptedException {
    long end = System.nanoTime() + LONG.toNanos();
    while (pool.waiting() < count) {
      assertThat(System.nanoTime()).as("nobody waits").isLessThan(end);
      Thread.sleep(1);
    }
  }
}
