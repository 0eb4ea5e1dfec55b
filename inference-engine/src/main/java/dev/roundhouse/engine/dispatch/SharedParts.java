package dev.roundhouse.engine.dispatch;

import dev.roundhouse.bundle.model.ModelSpec;
import dev.roundhouse.bundle.model.TensorSpec;
import dev.roundhouse.bundle.tensor.TensorType;
import dev.roundhouse.engine.model.CompiledProgram;
import dev.roundhouse.engine.schedule.BatchPlanner;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * What lanes have in common. Models that are alike get the same planners and layouts: most of a
 * large fleet is copies of a few architectures, and what they share stays in the caches. Owned by
 * the dispatch thread.
 */
final class SharedParts {
  private final Map<PlannerKey, BatchPlanner> planners = new HashMap<>();
  private final LeadingRun leadingRun = new LeadingRun();
  private final Map<LayoutKey, ProgramLayout> layouts = new HashMap<>();

  /** What looks at a queue to plan a batch. */
  LeadingRun leadingRun() {
    return leadingRun;
  }

  /** A planner for compiled sizes and a row cap. */
  BatchPlanner planner(int[] sizes, int rowCap) {
    List<Integer> key = Arrays.stream(sizes).boxed().toList();
    return planners.computeIfAbsent(
        new PlannerKey(key, rowCap), unknown -> new BatchPlanner(sizes, rowCap));
  }

  /** Where rows lie in what a program takes and returns, weights left out. */
  ProgramLayout of(ModelSpec spec, CompiledProgram compiled) {
    List<TensorType> inputs = compiled.program().parameters().subList(0, spec.inputs().size());
    LayoutKey key =
        new LayoutKey(
            spec.inputs(), List.copyOf(inputs), spec.outputs(), compiled.program().results());
    return layouts.computeIfAbsent(
        key,
        unknown -> new ProgramLayout(key.inputs, key.inputTypes, key.outputs, key.outputTypes));
  }

  private record PlannerKey(List<Integer> sizes, int rowCap) {}

  private record LayoutKey(
      List<TensorSpec> inputs,
      List<TensorType> inputTypes,
      List<TensorSpec> outputs,
      List<TensorType> outputTypes) {}
}
