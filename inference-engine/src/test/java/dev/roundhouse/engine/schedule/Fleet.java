package dev.roundhouse.engine.schedule;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeSet;

/** Models that always or never have something to run, on a device of their own. Seconds. */
final class Fleet {
  private final Discipline discipline;
  private final Map<Integer, Model> models = new LinkedHashMap<>();
  private final Set<Integer> wanting = new TreeSet<>();
  private double now;
  private double total;

  Fleet(Discipline discipline) {
    this.discipline = discipline;
  }

  Discipline discipline() {
    return discipline;
  }

  void add(int slot, double weight, double cost) {
    models.put(slot, new Model(weight, cost));
    discipline.register(slot, weight);
  }

  void want(int slot) {
    wanting.add(slot);
    model(slot).waitsSince = now;
    discipline.ready(slot, front(slot));
  }

  void idle(int slot) {
    wanting.remove(slot);
    discipline.notReady(slot);
  }

  void idleAnyBut(int one, int other) {
    wanting.stream().filter(slot -> slot != one && slot != other).findAny().ifPresent(this::idle);
  }

  int wanting() {
    return wanting.size();
  }

  void runFor(double seconds) {
    double end = now + seconds;
    while (now < end) {
      int slot = discipline.choose();
      Model model = model(slot);
      model.longestWait = Math.max(model.longestWait, now - model.waitsSince);
      now += model.cost;
      total += model.cost;
      model.used += model.cost;
      model.waitsSince = now;
      Saturated.run(discipline, slot, Math.round(model.cost * 1e9), nowNanos());
      discipline.ready(slot, front(slot));
    }
  }

  void forgetWhatWasUsed() {
    total = 0;
    for (Model model : models.values()) {
      model.used = 0;
      model.longestWait = 0;
      model.waitsSince = now;
    }
  }

  /**
   * Between the end of a run and the next of its own, a model of share s that is always ready waits
   * for no longer than {@code (c + C) / s}, c being its longest run and C the sum of everybody's.
   */
  void assertNobodyWaitedLongerThanPromised(int... slots) {
    double weights = 0;
    double costs = 0;
    for (int slot : slots) {
      weights += weight(slot);
      costs += model(slot).cost;
    }
    for (int slot : slots) {
      double promised = (model(slot).cost + costs) * weights / weight(slot);
      double waited = Math.max(longestWait(slot), now - model(slot).waitsSince);
      assertThat(waited).as("wait of %d", slot).isLessThanOrEqualTo(promised);
    }
  }

  double used(int slot) {
    return model(slot).used;
  }

  double weight(int slot) {
    return model(slot).weight;
  }

  double longestWait(int slot) {
    return model(slot).longestWait;
  }

  double total() {
    return total;
  }

  long nowNanos() {
    return Math.round(now * 1e9);
  }

  private Model model(int slot) {
    return Objects.requireNonNull(models.get(slot));
  }

  private Discipline.Front front(int slot) {
    return new Discipline.Front(nowNanos(), Long.MAX_VALUE, model(slot).cost * 1e9);
  }

  private static final class Model {
    final double weight;
    final double cost;
    double used;
    double waitsSince;
    double longestWait;

    Model(double weight, double cost) {
      this.weight = weight;
      this.cost = cost;
    }
  }
}
