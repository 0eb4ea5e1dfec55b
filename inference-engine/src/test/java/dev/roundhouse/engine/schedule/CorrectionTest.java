package dev.roundhouse.engine.schedule;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.util.ArrayDeque;
import java.util.Objects;
import java.util.Queue;
import java.util.Random;
import java.util.function.Supplier;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** A charge by an estimate and its correction are as good as a charge by the truth. */
class CorrectionTest {
  private static final int SLOTS = 12;
  private static final long SECOND = 1_000_000_000L;

  enum Ours implements Supplier<Discipline> {
    FAIR {
      @Override
      public Discipline get() {
        return new FairShare(30 * SECOND, 0.25);
      }
    },
    VIRTUAL_TIME {
      @Override
      public Discipline get() {
        return new VirtualTime();
      }
    }
  }

  /**
   * Two disciplines see the same: one is told the truth at once, the other up to 3 charges late.
   */
  @ParameterizedTest
  @EnumSource
  void shouldStandWhereTheTruthWouldHaveLedWhateverHappensInBetween(Ours ours) {
    for (long seed = 1; seed <= 6; seed++) {
      Random random = new Random(seed);
      Discipline told = ours.get();
      Discipline guessing = ours.get();
      boolean[] ready = new boolean[SLOTS];
      for (int slot = 0; slot < SLOTS; slot++) {
        register(told, guessing, slot, random);
      }
      Queue<Charge> open = new ArrayDeque<>();
      long now = 0;
      for (int step = 0; step < 5_000; step++) {
        now += (long) (random.nextDouble() * (random.nextInt(500) == 0 ? 9_000 : 1) * SECOND);
        int slot = random.nextInt(SLOTS);
        switch (random.nextInt(12)) {
          case 0, 1, 2 -> {
            ready[slot] = false;
            told.notReady(slot);
            guessing.notReady(slot);
          }
          case 3 -> register(told, guessing, slot, random);
          case 4 -> {
            if (random.nextInt(20) == 0) {
              Charge.correctAll(open, guessing, now);
              told.unregister(slot);
              guessing.unregister(slot);
              ready[slot] = false;
              register(told, guessing, slot, random);
            }
          }
          case 5, 6, 7, 8 -> {
            // Both must follow the same way, so one chooses for both, and only once it knows.
            Charge.correctAll(open, guessing, now);
            assertThat(guessing.isEmpty()).isEqualTo(told.isEmpty());
            int runs = 0;
            while (!told.isEmpty() && runs++ < 3) {
              int chosen = told.choose();
              Charge charge = Charge.of(chosen, random);
              if (sameChoice(guessing, chosen, open)) {
                told.charge(chosen, charge.deviceNanos(), now);
                told.correct(chosen, charge.deviceNanos(), charge.deviceNanos(), now);
                guessing.charge(chosen, charge.expectedNanos(), now);
                open.add(charge);
              }
            }
          }
          default -> {
            ready[slot] = true;
            Discipline.Front front =
                new Discipline.Front(now, Long.MAX_VALUE, 1e5 + random.nextInt(9_000_000));
            told.ready(slot, front);
            guessing.ready(slot, front);
          }
        }
        if (random.nextInt(4) == 0) {
          Charge.correctAll(open, guessing, now);
          for (int each = 0; each < SLOTS; each++) {
            assertSame(told, guessing, each, "seed %d step %d".formatted(seed, step));
          }
          if (!told.isEmpty()) {
            assertThat(guessing.choose()).isEqualTo(told.choose());
          }
        }
      }
    }
  }

  /** Whether the clock of virtual time moves depends on being first, which estimates may change. */
  private static boolean sameChoice(Discipline guessing, int chosen, Queue<Charge> open) {
    return open.isEmpty() || guessing.choose() == chosen;
  }

  private static void register(Discipline told, Discipline guessing, int slot, Random random) {
    double weight = 0.5 * (1 + random.nextInt(8));
    told.register(slot, weight);
    guessing.register(slot, weight);
  }

  private static void assertSame(Discipline told, Discipline guessing, int slot, String when) {
    Discipline.Standing due = Objects.requireNonNull(told.standing(slot));
    Discipline.Standing is = Objects.requireNonNull(guessing.standing(slot));
    assertThat(is.share()).as(when).isEqualTo(due.share());
    assertThat(is.deficit())
        .as("%s: deficit of %d under %s", when, slot, told.name())
        .isCloseTo(due.deficit(), within(1e-9 * Math.max(1, Math.abs(due.deficit()))));
  }

  private record Charge(int slot, long expectedNanos, long deviceNanos) {
    static Charge of(int slot, Random random) {
      long expected = random.nextInt(50_000_000);
      return new Charge(
          slot, expected, random.nextInt(5) == 0 ? 0 : 1 + random.nextInt(50_000_000));
    }

    static void correctAll(Queue<Charge> open, Discipline discipline, long now) {
      for (Charge each = open.poll(); each != null; each = open.poll()) {
        discipline.correct(each.slot(), each.expectedNanos(), each.deviceNanos(), now);
      }
    }
  }
}
