package dev.roundhouse.engine.thread;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class LowPriorityTest {
  private static final int LOWEST = 19;

  @Test
  void shouldBeBelowTheProcessAndNotFurtherDownWhenStartedByOneThatIs() throws Exception {
    int own = nice("self");
    CompletableFuture<Integer> first = new CompletableFuture<>();
    CompletableFuture<Integer> second = new CompletableFuture<>();
    new Thread(
            () -> {
              LowPriority.ofThisThread();
              LowPriority.forgetThisThread();
              tell(first);
              new Thread(
                      () -> {
                        LowPriority.ofThisThread();
                        LowPriority.forgetThisThread();
                        tell(second);
                      })
                  .start();
            })
        .start();
    assertThat(first.get()).isEqualTo(Math.min(LOWEST, own + 5));
    assertThat(second.get()).isEqualTo(first.get());
  }

  @Test
  void shouldTakeWhatOthersLeaveOnceNobodyWaitsForItAndRunNothingElse() throws Exception {
    PlatformThreads threads = new PlatformThreads("few", 2);
    CompletableFuture<Thread> stuck = new CompletableFuture<>();
    CompletableFuture<Void> stop = new CompletableFuture<>();
    CompletableFuture<Integer> then = new CompletableFuture<>();
    threads.execute(
        () -> {
          stuck.complete(Thread.currentThread());
          stop.join();
          tell(then);
        });
    LowPriority.lowest(stuck.get());
    stop.complete(null);
    assertThat(then.get()).isEqualTo(LOWEST);
    stuck.get().join(); // it has ended, and is not used again
    CompletableFuture<Thread> next = new CompletableFuture<>();
    threads.execute(() -> next.complete(Thread.currentThread()));
    assertThat(next.get()).isNotSameAs(stuck.get());
    LowPriority.lowest(Thread.currentThread()); // none of these: nothing is done
    assertThat(nice("thread-self")).isEqualTo(nice("self"));
  }

  private static void tell(CompletableFuture<Integer> nice) {
    try {
      nice.complete(nice("thread-self"));
    } catch (Exception e) {
      nice.completeExceptionally(e);
    }
  }

  private static int nice(String of) throws Exception {
    String stat = Files.readString(Path.of("/proc", of, "stat"));
    return Integer.parseInt(stat.substring(stat.lastIndexOf(')') + 2).split(" ")[16]);
  }
}
