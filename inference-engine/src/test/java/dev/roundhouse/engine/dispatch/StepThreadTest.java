package dev.roundhouse.engine.dispatch;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.engine.testing.LiveEngine;
import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A thread that does one thing after the other, and how it ends. */
@Timeout(30)
class StepThreadTest {
  private final FailStop failStop = new FailStop();
  private final AtomicInteger woken = new AtomicInteger();

  @Test
  void shouldDoAllThereIsAndMoreWhenItIsWoken() {
    Steps steps = new Steps(3, false);
    steps.start();
    LiveEngine.await("three are done", () -> steps.left.get() == 0);
    LiveEngine.await("it sleeps", () -> state(steps) == Thread.State.WAITING);
    steps.left.set(2);
    steps.wake();
    LiveEngine.await("two more are done", () -> steps.left.get() == 0);
    steps.close();
    assertThat(steps.stops).hasValue(1);
    assertThat(failStop.cause()).isNull();
  }

  @Test
  void shouldDoWhatIsLeftBeforeItStops() {
    Steps steps = new Steps(5, false);
    steps.holdAtFirst = true;
    steps.start();
    LiveEngine.await("the first is being done", () -> steps.thread != null);
    closeWhileItWorks(steps);
    assertThat(steps.left).hasValue(0);
    assertThat(steps.stops).hasValue(1);
  }

  @Test
  void shouldGiveUpWhatIsLeftWhenThatIsOfNoUse() {
    Steps steps = new Steps(5, true);
    steps.holdAtFirst = true;
    steps.start();
    LiveEngine.await("the first is being done", () -> steps.thread != null);
    closeWhileItWorks(steps);
    assertThat(steps.left).as("the one that was under way is done").hasValue(4);
    assertThat(steps.stops).hasValue(1);
  }

  /** Lets the step that is under way end when the closing thread waits for it. */
  private static void closeWhileItWorks(Steps steps) {
    Thread closing = Thread.currentThread();
    var unused =
        Thread.ofPlatform()
            .start(
                () -> {
                  LiveEngine.await(
                      "it is being closed", () -> closing.getState() == Thread.State.WAITING);
                  steps.holdAtFirst = false;
                });
    steps.close();
  }

  @Test
  void shouldEndTheEngineWhenAStepThrows() {
    Steps steps = new Steps(1, false);
    steps.fails = true;
    steps.start();
    LiveEngine.await("the dispatch thread is told", () -> woken.get() == 1);
    assertThat(failStop.cause()).hasMessage("made by a test");
    steps.close();
    assertThat(steps.stops).as("it has not stopped in order").hasValue(0);
  }

  @Test
  void shouldEndWhenTheEngineFails() throws InterruptedException {
    Steps steps = new Steps(1, false);
    steps.start();
    LiveEngine.await("it sleeps", () -> state(steps) == Thread.State.WAITING);
    failStop.request(new IllegalStateException("made by a test"));
    assertThat(Objects.requireNonNull(steps.thread).join(Duration.ofSeconds(10))).isTrue();
    assertThat(steps.stops).hasValue(0);
    assertThat(steps.failStop()).isSameAs(failStop);
  }

  @Test
  void shouldCloseThoughItIsInterruptedAndNotForgetThat() {
    Steps steps = new Steps(1, false);
    steps.start();
    Thread.currentThread().interrupt();
    steps.close();
    assertThat(Thread.interrupted()).isTrue();
    assertThat(steps.stops).hasValue(1);
    Steps others = new Steps(1, false);
    others.start();
    others.close();
    assertThat(Thread.interrupted()).isFalse();
  }

  private static Thread.@Nullable State state(Steps steps) {
    Thread thread = steps.thread;
    return thread == null ? null : thread.getState();
  }

  private final class Steps extends StepThread {
    private final AtomicInteger left;
    private final AtomicInteger stops = new AtomicInteger();
    private final boolean givesUp;
    private volatile boolean fails;
    private volatile boolean holdAtFirst;
    private volatile @Nullable Thread thread;

    Steps(int count, boolean givesUp) {
      super("steps", failStop);
      left = new AtomicInteger(count);
      this.givesUp = givesUp;
      wakeDispatchBy(woken::incrementAndGet);
    }

    @Override
    boolean step() {
      thread = Thread.currentThread();
      if (fails) {
        throw new IllegalStateException("made by a test");
      }
      while (holdAtFirst) {
        Thread.onSpinWait();
      }
      if (left.get() == 0) {
        return false;
      }
      left.decrementAndGet();
      return true;
    }

    @Override
    void onStop() {
      stops.incrementAndGet();
    }

    @Override
    boolean givesUp() {
      return givesUp;
    }
  }
}
