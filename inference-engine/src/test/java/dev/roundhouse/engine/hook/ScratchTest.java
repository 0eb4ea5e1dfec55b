package dev.roundhouse.engine.hook;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.roundhouse.engine.queue.ByteBudget;
import dev.roundhouse.engine.testing.LiveEngine;
import dev.roundhouse.engine.time.NanoClock;
import dev.roundhouse.hooks.HookException;
import java.lang.foreign.MemorySegment;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Memory that metas work in, of which there is little. */
@Timeout(30)
class ScratchTest {
  private static final long NEVER = Long.MAX_VALUE;

  private final ByteBudget requests = new ByteBudget(1000, "requests");
  private final ByteBudget heap = new ByteBudget(100, "heap");
  private final ScratchLine line = new ScratchLine(NanoClock.SYSTEM);
  private final HookMemory one = new HookMemory("m", requests, heap);
  private final HookMemory two = new HookMemory("m", requests, heap);
  private final HookMemory three = new HookMemory("m", requests, heap);

  @AfterEach
  void shouldGiveAllBack() {
    one.close();
    two.close();
    three.close();
    assertThat(heap.held()).isZero();
    assertThat(requests.held()).isZero();
  }

  @Test
  void shouldWaitForRoomFirstComeFirstServed() throws InterruptedException {
    assertThat(one.scratch("a", 80, line, NEVER)).isNotNull();
    Waiter second = new Waiter(two, 90);
    LiveEngine.await("it waits", second::waits);
    Waiter third = new Waiter(three, 10);
    LiveEngine.await("it waits", third::waits);
    assertThat(third.made).as("though there is room").hasNullValue();
    one.releaseScratch();
    second.join();
    third.join();
    assertThat(second.made.get()).isNotNull();
    assertThat(third.made.get()).isNotNull();
    assertThat(heap.held()).isEqualTo(100);
  }

  @Test
  void shouldGiveUpAtTheDeadline() throws InterruptedException {
    one.make("a", 80);
    long deadline = NanoClock.SYSTEM.nanoTime() + TimeUnit.MILLISECONDS.toNanos(20);
    assertThat(two.scratch("b", 30, line, deadline)).isNull();
    assertThat(NanoClock.SYSTEM.nanoTime()).isGreaterThanOrEqualTo(deadline);
    assertThat(two.scratch("b", 20, line, NEVER)).isNotNull();
  }

  @Test
  void shouldNotWaitForOthersWhileItHoldsWhatTheyMayWaitFor() throws InterruptedException {
    one.make("a", 60);
    two.make("b", 30);
    assertThatThrownBy(() -> two.scratch("c", 20, line, NEVER))
        .isInstanceOf(HookException.class)
        .hasMessageContaining("tensor 'c' that hooks of model 'm' make needs 20 bytes");
    assertThat(two.scratch("c", 10, line, NEVER)).isNotNull();
  }

  @Test
  void shouldNotWaitForMemoryOfRequestsOfWhichItMayHoldSomeItself() {
    assertThat(requests.take(990)).isTrue();
    assertThatThrownBy(() -> one.scratch("a", 20, line, NEVER))
        .isInstanceOf(HookException.class)
        .hasMessageContaining("needs 20 bytes, 990 are held and the limit is 1000");
    requests.giveBack(990);
  }

  @Test
  void shouldRefuseMoreThanThereEverIs() {
    assertThatThrownBy(() -> one.scratch("a", 101, line, NEVER))
        .isInstanceOf(HookException.class)
        .hasMessageContaining("needs 101 bytes, 0 are held and the limit is 100");
  }

  @Test
  void shouldCountAfterTheRunOnlyWhatTheAnswerHas() throws InterruptedException {
    MemorySegment lost = made(one.scratch("a", 40, line, NEVER));
    MemorySegment answer = made(one.scratch("b", 30, line, NEVER));
    assertThat(one.forCall("x", lost)).isSameAs(lost);
    assertThat(one.forAnswer("y", answer)).isSameAs(answer);
    one.releaseScratch();
    assertThat(heap.held()).isEqualTo(30);
    assertThat(requests.held()).isEqualTo(30);
    one.releaseScratch();
    assertThat(heap.held()).isEqualTo(30);
  }

  private static MemorySegment made(@Nullable MemorySegment segment) {
    return Objects.requireNonNull(segment);
  }

  private final class Waiter extends Thread {
    final AtomicReference<@Nullable MemorySegment> made = new AtomicReference<>();
    private final HookMemory memory;
    private final long size;

    Waiter(HookMemory memory, long size) {
      this.memory = memory;
      this.size = size;
      start();
    }

    boolean waits() {
      return getState() == State.TIMED_WAITING;
    }

    @Override
    public void run() {
      try {
        made.set(memory.scratch("w", size, line, NanoClock.SYSTEM.nanoTime() + 20_000_000_000L));
      } catch (InterruptedException e) {
        throw new IllegalStateException(e);
      }
    }
  }
}
