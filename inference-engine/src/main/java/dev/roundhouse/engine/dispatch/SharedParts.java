package dev.roundhouse.engine.dispatch;

import dev.roundhouse.bundle.model.ModelSpec;
import dev.roundhouse.bundle.model.TensorSpec;
import dev.roundhouse.bundle.tensor.TensorType;
import dev.roundhouse.engine.model.CompiledProgram;
import dev.roundhouse.engine.schedule.BatchPlanner;
import java.util.Arrays;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.Supplier;

/**
 * What lanes have in common. Models that are alike get the same planners and layouts: most of a
 * large fleet is copies of a few architectures, and what they share stays in the caches. A part
 * goes when the last lane that has it is released. Owned by the dispatch thread.
 */
final class SharedParts {
  private final LeadingRun leadingRun = new LeadingRun();
  private final Counted<PlannerKey, BatchPlanner> planners = new Counted<>();
  private final Counted<LayoutKey, ProgramLayout> layouts = new Counted<>();

  /** What looks at a queue to plan a batch. */
  LeadingRun leadingRun() {
    return leadingRun;
  }

  /** A planner for compiled sizes and a row cap. */
  BatchPlanner planner(int[] sizes, int rowCap) {
    List<Integer> key = Arrays.stream(sizes).boxed().toList();
    return planners.take(new PlannerKey(key, rowCap), () -> new BatchPlanner(sizes, rowCap));
  }

  /** Where rows lie in what a program takes and returns, weights left out. */
  ProgramLayout of(ModelSpec spec, CompiledProgram compiled) {
    List<TensorType> inputs = compiled.program().parameters().subList(0, spec.inputs().size());
    LayoutKey key =
        new LayoutKey(
            spec.inputs(), List.copyOf(inputs), spec.outputs(), compiled.program().results());
    return layouts.take(
        key, () -> new ProgramLayout(key.inputs, key.inputTypes, key.outputs, key.outputTypes));
  }

  /** Gives back what a lane, which runs nothing any more, was made of. */
  void release(ModelLane lane) {
    for (BatchPlanner planner : lane.planners()) {
      planners.giveBack(planner);
    }
    lane.programs().forEach(program -> layouts.giveBack(program.layout()));
  }

  private record PlannerKey(List<Integer> sizes, int rowCap) {}

  private record LayoutKey(
      List<TensorSpec> inputs,
      List<TensorType> inputTypes,
      List<TensorSpec> outputs,
      List<TensorType> outputTypes) {}

  /** Values by key, each kept for as long as somebody has it. */
  private static final class Counted<K, V> {
    private final Map<K, Entry<K, V>> byKey = new HashMap<>();
    private final Map<V, Entry<K, V>> byValue = new IdentityHashMap<>();

    V take(K key, Supplier<V> maker) {
      Entry<K, V> entry = byKey.get(key);
      if (entry == null) {
        entry = new Entry<>(key, maker.get());
        byKey.put(key, entry);
        byValue.put(entry.value, entry);
      }
      entry.users++;
      return entry.value;
    }

    void giveBack(V value) {
      Entry<K, V> entry = Objects.requireNonNull(byValue.get(value));
      if (--entry.users == 0) {
        byKey.remove(entry.key);
        byValue.remove(value);
      }
    }
  }

  private static final class Entry<K, V> {
    private final K key;
    private final V value;
    private int users;

    Entry(K key, V value) {
      this.key = key;
      this.value = value;
    }
  }
}
