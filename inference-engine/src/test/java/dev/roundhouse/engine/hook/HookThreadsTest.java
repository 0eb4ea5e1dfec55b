package dev.roundhouse.engine.hook;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.roundhouse.engine.request.Status;
import dev.roundhouse.engine.time.ManualClock;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Queue;
import java.util.concurrent.RejectedExecutionException;
import org.junit.jupiter.api.Test;

/** Who runs next; "threads" are tasks that the test runs. */
class HookThreadsTest {
  private final Queue<Runnable> threads = new ArrayDeque<>();
  private final List<String> ran = new ArrayList<>();
  private int free = 100;

  private final HookThreads hooks =
      new HookThreads(
          task -> {
            if (free == 0) {
              throw new RejectedExecutionException("all in use");
            }
            free--;
            threads.add(task);
          },
          new ManualClock(),
          100,
          2,
          3);
  private final HookThreads.Share a = hooks.share("a");
  private final HookThreads.Share b = hooks.share("b");

  @Test
  void shouldRunNoMoreOfAModelThanItsShareAndTheRestLater() {
    for (int i = 0; i < 5; i++) {
      execute(a, "a" + i, false);
    }
    execute(b, "b", false);
    assertThat(threads).hasSize(3);
    assertThatThrownBy(() -> execute(a, "one too many", false))
        .isInstanceOf(RejectedExecutionException.class)
        .hasMessage("3 requests wait for the hooks of model 'a' and the limit is 3");
    execute(a, "late", true);
    runThreads();
    assertThat(ran)
        .startsWith("a0", "late")
        .containsOnlyOnce("a1", "a2", "a3", "a4", "b")
        .hasSize(7);
    execute(a, "again", false);
    assertThat(threads).hasSize(1);
  }

  @Test
  void shouldSayWhatPiecesWaitFor() {
    assertThat(a.waiting()).isNull();
    execute(a, "a0", false);
    execute(a, "a1", false);
    assertThat(a.waiting()).as("both run").isNull();
    execute(a, "a2", false);
    assertThat(Objects.requireNonNull(a.waiting()).words())
        .isEqualTo("1 request waits for its code: 2 run it, as many as may of one model");
    runThreads();
    assertThat(a.waiting()).isNull();

    HookThreads few = new HookThreads(threads::add, new ManualClock(), 2, 2, 3);
    HookThreads.Share c = few.share("c");
    execute(c, "c0", false);
    execute(c, "c1", false);
    HookThreads.Share d = few.share("d");
    execute(d, "d0", false);
    execute(d, "d1", false);
    assertThat(Objects.requireNonNull(d.waiting()).words())
        .isEqualTo("2 requests wait for its code: 2 of the 2 threads for models' code are busy");
    runThreads();
  }

  @Test
  void shouldLeaveShortPiecesToTheThreadThatRunsAndWakeAnotherWhenThatTakesLong() {
    for (int i = 0; i < 300; i++) {
      execute(a, "short", false);
      runThreads();
    }
    ran.clear();
    execute(a, "a0", false);
    execute(a, "a1", false);
    assertThat(threads).as("a piece takes less than waking another thread").hasSize(1);
    assertThat(Objects.requireNonNull(a.waiting()).words())
        .isEqualTo(
            "1 request waits for its code: a thread that runs it is through sooner than another wakes");
    hooks.look();
    assertThat(threads).as("the first may just have begun").hasSize(1);
    hooks.look();
    assertThat(threads).as("none has ended from look to look").hasSize(2);
    runThreads();
    assertThat(ran).containsExactlyInAnyOrder("a0", "a1");
  }

  @Test
  void shouldTakeTurnsWhereAllThreadsAreInUse() {
    free = 1;
    execute(a, "a0", false);
    for (int i = 1; i < 4; i++) {
      execute(a, "a" + i, false);
      execute(b, "b" + i, false);
    }
    assertThat(threads).hasSize(1);
    runThreads();
    assertThat(ran).containsExactly("a0", "a1", "b1", "a2", "b2", "a3", "b3");
  }

  @Test
  void shouldRunNoMoreThanItsLimit() {
    HookThreads few = new HookThreads(threads::add, new ManualClock(), 2, 2, 3);
    HookThreads.Share c = few.share("c");
    HookThreads.Share d = few.share("d");
    execute(c, "c0", false);
    execute(c, "c1", false);
    execute(d, "d0", false);
    assertThat(threads).hasSize(2);
    few.onStuck(c, Thread.currentThread());
    few.onStuck(c, Thread.ofPlatform().unstarted(() -> {}));
    assertThat(ran).as("nobody is left to run it").containsExactly("d0");
    assertThatThrownBy(() -> execute(d, "d1", false))
        .hasMessage("none of the 2 threads for hooks comes back");
    runThreads();
    execute(d, "d2", false);
    assertThat(threads).as("one came back").hasSize(1);
  }

  @Test
  void shouldRefuseWhenOthersHaveAllThreads() {
    free = 0;
    assertThatThrownBy(() -> execute(a, "a", false)).hasMessage("all in use");
    free = 1;
    execute(a, "a", false);
    runThreads();
    assertThat(ran).containsExactly("a");
  }

  @Test
  void shouldGoOnWhenAPieceThrows() {
    a.execute(
        () -> {
          throw new StackOverflowError("made by a test");
        },
        false);
    execute(a, "a1", false);
    execute(a, "a2", false);
    runThreads();
    assertThat(ran).containsExactlyInAnyOrder("a1", "a2");
  }

  @Test
  void shouldEndWhatWaitsWhenTheLastThreadIsStuck() {
    free = 1;
    execute(a, "a0", false);
    b.execute(() -> ran.add("b " + Objects.requireNonNull(b.refusal()).status()), false);
    hooks.onStuck(a, Thread.currentThread());
    assertThat(ran).containsExactly("b RESOURCE_EXHAUSTED");
    assertThat(b.refusal()).isNull();
    assertThatThrownBy(() -> execute(b, "b1", false)).hasMessage("all in use");
    runThreads(); // it comes back
    execute(b, "b2", false);
    runThreads();
    assertThat(ran).containsExactly("b RESOURCE_EXHAUSTED", "a0", "b2");
  }

  @Test
  void shouldGiveAModelAnotherThreadForOneThatIsStuck() {
    for (int i = 0; i < 3; i++) {
      execute(a, "a" + i, false);
    }
    assertThat(threads).hasSize(2);
    hooks.onStuck(a, Thread.currentThread());
    assertThat(threads).hasSize(3);
    hooks.onStuck(a, Thread.currentThread());
    assertThat(threads).as("it is stuck once").hasSize(3);
    runThreads();
    assertThat(ran).containsExactlyInAnyOrder("a0", "a1", "a2");
    execute(a, "a3", false);
    execute(a, "a4", false);
    execute(a, "a5", false);
    assertThat(threads).as("it came back, and counts once").hasSize(2);
  }

  @Test
  void shouldEndWhatWaitsForAModelThatIsClosed() {
    for (int i = 0; i < 4; i++) {
      a.execute(() -> ran.add(a.refusal() == null ? "runs" : "refused"), i == 3);
    }
    a.close(new HookThreads.Refusal(Status.UNAVAILABLE, "made by a test"));
    assertThat(ran).containsExactly("refused", "refused");
    runThreads();
    assertThat(ran).hasSize(4);
  }

  private void execute(HookThreads.Share share, String name, boolean late) {
    share.execute(() -> ran.add(name), late);
  }

  private void runThreads() {
    for (Runnable next = threads.poll(); next != null; next = threads.poll()) {
      next.run();
      free++;
    }
  }
}
