package dev.roundhouse.engine.thread;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.engine.testing.Gate;
import dev.roundhouse.engine.testing.LiveEngine;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.RejectedExecutionException;
import org.junit.jupiter.api.Test;

class PlatformThreadsTest {
  private final PlatformThreads threads = new PlatformThreads("some", 2);

  @Test
  void shouldUseAThreadAgainUntilItIsRenewed() {
    Thread first = here();
    assertThat(first.getName()).isEqualTo("some-1");
    assertThat(first.isDaemon()).isTrue();
    assertThat(first.isVirtual()).isFalse();
    LiveEngine.await("it is used again", () -> here() == first);
    threads.renew();
    assertThat(here()).isNotSameAs(first);
    LiveEngine.await("it has ended", () -> !first.isAlive());
  }

  @Test
  void shouldLetABusyThreadEndWithItsTaskWhenItIsRenewed() {
    Gate gate = new Gate();
    CompletableFuture<Thread> busy = new CompletableFuture<>();
    threads.execute(
        () -> {
          busy.complete(Thread.currentThread());
          gate.pass();
        });
    Thread thread = LiveEngine.get(busy);
    threads.renew();
    assertThat(thread.isAlive()).isTrue();
    gate.open();
    LiveEngine.await("it has ended", () -> !thread.isAlive());
    LiveEngine.await("it is not counted", () -> threads.count() == 0);
  }

  @Test
  void shouldNotPassAnInterruptOnToTheNextTask() {
    for (int i = 0; i < 100; i++) {
      CompletableFuture<Boolean> interrupted = new CompletableFuture<>();
      LiveEngine.await("there is a thread", () -> isRun(() -> Thread.currentThread().interrupt()));
      LiveEngine.await(
          "there is a thread",
          () -> isRun(() -> interrupted.complete(Thread.currentThread().isInterrupted())));
      assertThat(LiveEngine.get(interrupted)).isFalse();
    }
  }

  private boolean isRun(Runnable task) {
    try {
      threads.execute(task);
      return true;
    } catch (RejectedExecutionException e) {
      return false;
    }
  }

  /** The thread of a task, once one is free: a thread is not at once when its task has ended. */
  private Thread here() {
    CompletableFuture<Thread> here = new CompletableFuture<>();
    LiveEngine.await("there is a thread", () -> isRun(() -> here.complete(Thread.currentThread())));
    return LiveEngine.get(here);
  }
}
