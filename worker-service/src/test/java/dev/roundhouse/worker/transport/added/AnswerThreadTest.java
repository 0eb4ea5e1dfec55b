package dev.roundhouse.worker.transport.added;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.engine.testing.LiveEngine;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** How long the thread of a transport's answers lives. */
@Timeout(60)
class AnswerThreadTest {
  private final AnswerThread answers =
      new AnswerThread("lived", AnswerThreadTest.class.getClassLoader());

  /** The thread, by a piece that it runs. */
  private Thread thread() {
    CompletableFuture<Thread> running = new CompletableFuture<>();
    answers.add(() -> running.complete(Thread.currentThread()));
    return LiveEngine.get(running);
  }

  @Test
  void shouldTellWhatEndsAfterTheTransportAndThenEnd() throws Exception {
    answers.start();
    Thread thread = thread();
    assertThat(answers.begin()).isTrue();
    assertThat(answers.begin()).isTrue();

    answers.end();
    CountDownLatch told = new CountDownLatch(2);
    for (int i = 0; i < 2; i++) {
      assertThat(thread()).as("it still runs").isSameAs(thread);
      answers.add(
          () -> {
            answers.ended();
            told.countDown();
          });
    }

    told.await();
    thread.join();
    assertThat(answers.begin()).as("nothing can be told any more").isFalse();
  }

  @Test
  void shouldEndAtOnceWhenNothingIsOpen() throws Exception {
    answers.start();
    Thread thread = thread();
    assertThat(answers.begin()).isTrue();
    answers.ended();

    answers.end();

    thread.join();
    assertThat(answers.begin()).isFalse();
  }

  @Test
  void shouldGoOnWhateverAPieceThrowsOrDoesToItsThread() throws Exception {
    answers.start();
    Thread thread = thread();
    answers.add(
        () -> {
          throw new StackOverflowError("of a test");
        });
    answers.add(() -> Thread.currentThread().interrupt());

    assertThat(thread()).isSameAs(thread);

    answers.end();
    thread.join();
  }
}
