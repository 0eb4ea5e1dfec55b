package dev.roundhouse.node.process;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.IntConsumer;
import org.junit.jupiter.api.Test;

/** Turned by hand, on a clock that stands still between turns. */
class SupervisorTest {
  private static final RestartPolicy FOR_EVER =
      new RestartPolicy(Duration.ofSeconds(30), Duration.ofSeconds(60), 0);

  private final FakeProcesses processes = new FakeProcesses();
  private long now = Long.MAX_VALUE - 5; // a clock may be about to wrap

  @Test
  void shouldDoubleTheTimeBetweenEndsUpToTheLongest() {
    Supervisor supervisor = supervisor(FOR_EVER, worker("worker0"));
    supervisor.doWork();
    for (long seconds : List.of(1L, 2L, 4L, 8L, 16L, 30L, 30L, 30L)) {
      int starts = processes.started.size();
      processes.last().end(1);
      supervisor.doWork();
      advance(Duration.ofSeconds(seconds).minusNanos(1));
      supervisor.doWork();
      assertThat(processes.started).as("before %s s", seconds).hasSize(starts);
      assertThat(supervisor.statuses().getFirst().state()).isEqualTo(ProcessState.BACKING_OFF);
      assertThat(supervisor.statuses().getFirst().delaySeconds()).isEqualTo(seconds);
      advance(Duration.ofNanos(1));
      supervisor.doWork();
      assertThat(processes.started).as("after %s s", seconds).hasSize(starts + 1);
    }
  }

  @Test
  void shouldBeginAnewWhenItWasUpForLong() {
    Supervisor supervisor = supervisor(FOR_EVER, worker("worker0"));
    supervisor.doWork();
    end(supervisor, 1, Duration.ZERO, 1);
    end(supervisor, 1, Duration.ofSeconds(60).minusNanos(1), 2);
    end(supervisor, 1, Duration.ofSeconds(60), 1);
    assertThat(supervisor.statuses().getFirst().restarts()).isEqualTo(3);
  }

  @Test
  void shouldStartAgainWhatEndedInOrder() {
    Supervisor supervisor = supervisor(FOR_EVER, worker("worker0"));
    supervisor.doWork();
    end(supervisor, 0, Duration.ZERO, 1);
    end(supervisor, 143, Duration.ZERO, 2);
    assertThat(processes.started).hasSize(3);
  }

  @Test
  void shouldBackOffWhenNoThreadCanBeHadForAProcess() {
    processes.withoutThreads = true;
    Supervisor supervisor = supervisor(FOR_EVER, worker("worker0"));
    supervisor.doWork();
    ProcessStatus status = supervisor.statuses().getFirst();
    assertThat(status.state()).isEqualTo(ProcessState.BACKING_OFF);
    assertThat(status.lastExit()).isEqualTo(127);
    processes.withoutThreads = false;
    supervisor.doWork();
    assertThat(processes.started).as("at once").isEmpty();
    advance(Duration.ofSeconds(1));
    supervisor.doWork();
    assertThat(processes.started).hasSize(1);
  }

  @Test
  void shouldGiveUpWhenOneEndedOnceMoreThanItMay() {
    RestartPolicy twice = new RestartPolicy(Duration.ofSeconds(30), Duration.ofSeconds(60), 2);
    Supervisor supervisor = supervisor(twice, worker("worker0"), worker("worker1"));
    supervisor.doWork();
    for (int i = 0; i < 2; i++) {
      processes.last("worker0").end(1);
      supervisor.doWork();
      advance(Duration.ofSeconds(30));
      supervisor.doWork();
    }
    assertThat(processes.last("worker1").terminated).isFalse();
    processes.last("worker0").end(1);
    supervisor.doWork();
    assertThat(processes.last("worker1").terminated).isTrue();
    assertThat(supervisor.ended()).isNotDone();
    processes.last("worker1").end(143);
    supervisor.doWork();
    assertThat(supervisor.ended()).isCompletedWithValue(true);
  }

  @Test
  void shouldStopTheGatewayBeforeTheWorkers() {
    Supervisor supervisor = supervisor(FOR_EVER, worker("worker0"), worker("worker1"), gateway());
    supervisor.doWork();
    supervisor.stop();
    supervisor.doWork();
    assertThat(processes.last("gateway").terminated).isTrue();
    assertThat(processes.last("worker0").terminated).isFalse();
    processes.last("gateway").end(0);
    supervisor.doWork();
    assertThat(processes.last("worker0").terminated).isTrue();
    assertThat(processes.last("worker1").terminated).isTrue();
    processes.last("worker0").end(0);
    processes.last("worker1").end(0);
    supervisor.doWork();
    assertThat(supervisor.ended()).isCompletedWithValue(false);
    assertThat(processes.started).hasSize(3);
  }

  @Test
  void shouldKillWhatDoesNotEndInItsTime() {
    Supervisor supervisor = supervisor(FOR_EVER, worker("worker0"));
    supervisor.doWork();
    supervisor.stop();
    supervisor.doWork();
    advance(Duration.ofSeconds(15).minusNanos(1));
    supervisor.doWork();
    assertThat(processes.last().kills).isZero();
    advance(Duration.ofNanos(1));
    supervisor.doWork();
    supervisor.doWork();
    assertThat(processes.last().kills).isEqualTo(1);
  }

  @Test
  void shouldNotStartWhatBacksOffOrWaitsWhenItIsToldToStop() {
    ProcessPlan held =
        new ProcessPlan("held", this::spec, (since, moment) -> false, Duration.ofSeconds(15), 1);
    Supervisor supervisor = supervisor(FOR_EVER, worker("worker0"), held);
    supervisor.doWork();
    processes.last("worker0").end(1);
    supervisor.doWork();
    supervisor.stop();
    supervisor.doWork();
    supervisor.doWork();
    assertThat(supervisor.ended()).isCompletedWithValue(false);
    assertThat(processes.started).hasSize(1);
  }

  @Test
  void shouldWaitAtTheGateBeforeEveryStart() {
    List<Long> asked = new ArrayList<>();
    boolean[] open = {false};
    ProcessPlan plan =
        new ProcessPlan(
            "worker0",
            this::spec,
            (since, moment) -> {
              asked.add(moment - since);
              return open[0];
            },
            Duration.ofSeconds(15),
            1);
    Supervisor supervisor = supervisor(FOR_EVER, plan);
    supervisor.doWork();
    advance(Duration.ofSeconds(5));
    supervisor.doWork();
    assertThat(processes.started).isEmpty();
    assertThat(supervisor.statuses().getFirst().state()).isEqualTo(ProcessState.WAITING);
    open[0] = true;
    supervisor.doWork();
    assertThat(processes.started).hasSize(1);
    assertThat(asked).containsExactly(0L, seconds(5), seconds(5));

    open[0] = false;
    processes.last().end(1);
    supervisor.doWork();
    advance(Duration.ofSeconds(1));
    supervisor.doWork();
    assertThat(processes.started).as("the gate is shut again").hasSize(1);
    open[0] = true;
    supervisor.doWork();
    assertThat(processes.started).hasSize(2);
  }

  @Test
  void shouldCountAStartThatFailsAsAnEnd() {
    processes.failures = 2;
    Supervisor supervisor = supervisor(FOR_EVER, worker("worker0"));
    supervisor.doWork();
    assertThat(supervisor.statuses().getFirst().lastExit()).isEqualTo(127);
    advance(Duration.ofSeconds(1));
    supervisor.doWork();
    assertThat(supervisor.statuses().getFirst().delaySeconds()).isEqualTo(2);
    advance(Duration.ofSeconds(2));
    supervisor.doWork();
    assertThat(supervisor.statuses().getFirst().state()).isEqualTo(ProcessState.RUNNING);
  }

  @Test
  void shouldNotTakeAnEndTwice() {
    Supervisor supervisor = supervisor(FOR_EVER, worker("worker0"));
    supervisor.doWork();
    FakeChild first = processes.last();
    first.end(1);
    supervisor.doWork();
    advance(Duration.ofSeconds(1));
    supervisor.doWork();
    first.end(1);
    supervisor.doWork();
    assertThat(supervisor.statuses().getFirst().state()).isEqualTo(ProcessState.RUNNING);
  }

  private void end(Supervisor supervisor, int code, Duration up, long expectedDelaySeconds) {
    advance(up);
    supervisor.doWork();
    processes.last().end(code);
    supervisor.doWork();
    assertThat(supervisor.statuses().getFirst().delaySeconds()).isEqualTo(expectedDelaySeconds);
    advance(Duration.ofSeconds(expectedDelaySeconds));
    supervisor.doWork();
  }

  private Supervisor supervisor(RestartPolicy policy, ProcessPlan... plans) {
    return new Supervisor(List.of(plans), policy, processes, () -> now);
  }

  private ProcessPlan worker(String name) {
    return new ProcessPlan(name, this::spec, StartGate.OPEN, Duration.ofSeconds(15), 1);
  }

  private ProcessPlan gateway() {
    return new ProcessPlan("gateway", this::spec, StartGate.OPEN, Duration.ofSeconds(10), 0);
  }

  private ProcessSpec spec() {
    return new ProcessSpec(List.of("program"), Map.of());
  }

  private void advance(Duration time) {
    now += time.toNanos();
  }

  private static long seconds(long seconds) {
    return TimeUnit.SECONDS.toNanos(seconds);
  }

  private static final class FakeProcesses implements ProcessStarter {
    final List<FakeChild> started = new ArrayList<>();
    int failures;
    boolean withoutThreads;

    @Override
    public ChildProcess start(String name, ProcessSpec spec, IntConsumer onExit)
        throws IOException {
      if (failures > 0) {
        failures--;
        throw new IOException("error=2, No such file or directory");
      }
      if (withoutThreads) {
        throw new OutOfMemoryError("unable to create native thread");
      }
      FakeChild child = new FakeChild(name, started.size() + 1L, onExit);
      started.add(child);
      return child;
    }

    FakeChild last() {
      return started.getLast();
    }

    FakeChild last(String name) {
      return started.reversed().stream()
          .filter(child -> child.name.equals(name))
          .findFirst()
          .orElseThrow();
    }
  }

  private static final class FakeChild implements ChildProcess {
    final String name;
    private final long pid;
    private final IntConsumer onExit;
    boolean terminated;
    int kills;

    FakeChild(String name, long pid, IntConsumer onExit) {
      this.name = name;
      this.pid = pid;
      this.onExit = onExit;
    }

    void end(int code) {
      onExit.accept(code);
    }

    @Override
    public long pid() {
      return pid;
    }

    @Override
    public void terminate() {
      terminated = true;
    }

    @Override
    public void kill() {
      kills++;
    }
  }
}
