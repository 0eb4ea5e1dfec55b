package dev.roundhouse.engine.thread;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class ProcessorUseTest {
  private final AtomicBoolean stopped = new AtomicBoolean();
  private final CountDownLatch done = new CountDownLatch(1);

  @AfterEach
  void stop() {
    stopped.set(true);
    done.countDown();
  }

  @Test
  void shouldTellAThreadThatComputesFromOneThatWaits() {
    Thread.ofPlatform()
        .name("it-computes")
        .start(
            () -> {
              while (!stopped.get()) {
                Thread.onSpinWait();
              }
            });
    Thread.ofPlatform()
        .name("it-waits")
        .start(
            () -> {
              try {
                done.await();
              } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
              }
            });
    assertThat(ProcessorUse.look(Duration.ofMillis(200)))
        .startsWith("in 200 ms ")
        .containsPattern(
            "thread \\d+ 'it-computes' computed for \\d+ ms and waited \\d+ ms for a processor")
        .doesNotContain("it-waits");
  }

  @Test
  void shouldNotGoOnWhenItIsInterrupted() {
    Thread.currentThread().interrupt();
    assertThat(ProcessorUse.look(Duration.ofHours(1))).startsWith("what threads do is not known: ");
    assertThat(Thread.interrupted()).isTrue();
  }
}
