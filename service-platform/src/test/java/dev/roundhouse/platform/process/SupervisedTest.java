package dev.roundhouse.platform.process;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.InputStream;
import java.io.PipedInputStream;
import java.io.PipedOutputStream;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.IntConsumer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class SupervisedTest {
  private static final IntConsumer HANGS = code -> {};

  private final CompletableFuture<Integer> exited = new CompletableFuture<>();
  private final CompletableFuture<Integer> halted = new CompletableFuture<>();

  @Test
  void shouldStopWhenTheSupervisorsEndOfTheInputIsClosed() throws Exception {
    PipedOutputStream supervisor = new PipedOutputStream();
    PipedInputStream input = new PipedInputStream(supervisor);
    Supervised.follow(
        Map.of(Supervised.VARIABLE, "3600"), input, exited::complete, halted::complete);
    supervisor.write(7); // a byte is no end
    supervisor.flush();
    while (input.available() > 0) {
      Thread.onSpinWait();
    }
    assertThat(exited).isNotDone();

    supervisor.close();

    assertThat(exited.get(30, TimeUnit.SECONDS)).isEqualTo(143);
    assertThat(halted).isNotDone();
  }

  @Test
  void shouldEndAProcessThatDoesNotStop() throws Exception {
    Supervised.follow(
        Map.of(Supervised.VARIABLE, "0"), InputStream.nullInputStream(), HANGS, halted::complete);

    assertThat(halted.get(30, TimeUnit.SECONDS)).isEqualTo(143);
  }

  @Test
  void shouldLeaveAProcessAloneThatNobodySupervises() {
    InputStream read =
        new InputStream() {
          @Override
          public int read() {
            throw new AssertionError("its standard input is its own");
          }
        };
    Set<Thread> before = Thread.getAllStackTraces().keySet();
    Supervised.follow(Map.of(), read, exited::complete, halted::complete);

    Set<Thread> started = new HashSet<>(Thread.getAllStackTraces().keySet());
    started.removeAll(before);
    assertThat(started).extracting(Thread::getName).doesNotContain("supervisor-watch");
  }

  @Test
  void shouldRefuseAGraceThatIsNoNumber() {
    assertThatThrownBy(
            () ->
                Supervised.follow(
                    Map.of(Supervised.VARIABLE, "15s"),
                    InputStream.nullInputStream(),
                    exited::complete,
                    halted::complete))
        .hasMessageContaining("ROUNDHOUSE_SUPERVISED_GRACE_SECONDS is '15s'");
  }
}
