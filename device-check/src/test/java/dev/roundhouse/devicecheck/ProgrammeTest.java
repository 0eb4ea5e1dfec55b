package dev.roundhouse.devicecheck;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.devicecheck.StepResult.End;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ProgrammeTest {
  private static final Duration PLENTY = Duration.ofSeconds(120);

  @TempDir private Path folder;
  private final StringWriter progress = new StringWriter();

  @Test
  void shouldReportWhatWasFoundWhenAStepFinishes() throws Exception {
    StepResult result = run(PLENTY, new FakeSteps.Good()).getFirst();

    assertThat(result.end()).isEqualTo(End.FINISHED);
    assertThat(result.isPassed()).isTrue();
    assertThat(result.findings())
        .extracting(Finding::what, Finding::value, Finding::note)
        .containsExactly(
            org.assertj.core.groups.Tuple.tuple("platform", null, "cpu"),
            org.assertj.core.groups.Tuple.tuple("rate", 12.5, ""));
  }

  @Test
  void shouldRunTheRestWhenAStepCrashesOrGivesUpOrFindsSomethingWrong() throws Exception {
    List<StepResult> results =
        run(
            PLENTY,
            new FakeSteps.Crashing(),
            new FakeSteps.GivingUp(),
            new FakeSteps.Wrong(),
            new FakeSteps.Good());

    assertThat(results)
        .extracting(StepResult::end)
        .containsExactly(End.DIED, End.FAILED, End.FINISHED, End.FINISHED);
    assertThat(results).extracting(StepResult::isPassed).containsExactly(false, false, false, true);
    StepResult crashed = results.getFirst();
    assertThat(crashed.findings()).extracting(Finding::what).containsExactly("first");
    assertThat(crashed.lastLines()).isNotEmpty();
    assertThat(crashed.reason()).contains("exit code");
    assertThat(results.get(1).findings().getLast().note()).contains("the cable is out");
  }

  @Test
  void shouldCutOffAndNameAStepAndItsChildrenWhenItHangs() throws Exception {
    List<StepResult> results = run(PLENTY, new FakeSteps.Hanging(), new FakeSteps.Good());

    StepResult hung = results.getFirst();
    assertThat(hung.end()).isEqualTo(End.CUT_OFF);
    assertThat(hung.reason()).contains("cut off");
    assertThat(hung.lastLines()).contains("about to wait");
    assertThat(hung.seconds()).isBetween(2.9, 30.0);
    long child = Objects.requireNonNull(hung.findings().getFirst().value()).longValue();
    awaitEnd(child);
    assertThat(results.getLast().end()).isEqualTo(End.FINISHED);
    assertThat(progress.toString()).contains("[1/2] hanging … CUT OFF");
    // Where it hung, for whoever wants to know.
    assertThat(Files.readString(folder.resolve("logs/hanging/log")))
        .contains("FakeSteps$Hanging.run");
  }

  @Test
  void shouldEndInTimeAndNameWhatWasNotRunWhenTimeForAllIsOver() throws Exception {
    long start = System.nanoTime();
    List<StepResult> results =
        run(Duration.ofSeconds(3), new FakeSteps.Hanging(), new FakeSteps.Good());

    assertThat((System.nanoTime() - start) / 1e9).isLessThan(30);
    assertThat(results).extracting(StepResult::end).containsExactly(End.CUT_OFF, End.NOT_RUN);
    assertThat(results.getLast().reason()).contains("no time left").contains("--steps good");
  }

  /** Killed is not gone yet: that takes the kernel a moment, and an entry may stay unreaped. */
  private static void awaitEnd(long pid) throws Exception {
    long deadline = System.nanoTime() + Duration.ofSeconds(10).toNanos();
    while (isRunning(pid)) {
      assertThat(System.nanoTime()).as("process %d still runs", pid).isLessThan(deadline);
      Thread.sleep(5);
    }
  }

  private static boolean isRunning(long pid) throws IOException {
    try {
      String stat = Files.readString(Path.of("/proc", Long.toString(pid), "stat"));
      return stat.charAt(stat.lastIndexOf(')') + 2) != 'Z';
    } catch (NoSuchFileException gone) {
      return false;
    }
  }

  private List<StepResult> run(Duration limit, Step... steps) throws Exception {
    CheckContext context = new CheckContext("cpu", null, null, folder, folder);
    return new Programme(List.of(steps), limit, new PrintWriter(progress))
        .run(new StepProcess(context, folder.resolve("logs")));
  }
}
