package dev.roundhouse.devicecheck;

import dev.roundhouse.devicecheck.step.CallOverhead;
import dev.roundhouse.devicecheck.step.CompileTimes;
import dev.roundhouse.devicecheck.step.Contract;
import dev.roundhouse.devicecheck.step.Describe;
import dev.roundhouse.devicecheck.step.HostWeightLoads;
import dev.roundhouse.devicecheck.step.HotModelRate;
import dev.roundhouse.devicecheck.step.LyingBudget;
import dev.roundhouse.devicecheck.step.ManyModels;
import dev.roundhouse.devicecheck.step.OutOfMemory;
import dev.roundhouse.devicecheck.step.Overlap;
import dev.roundhouse.devicecheck.step.Samples;
import dev.roundhouse.devicecheck.step.SharedGpuMemory;
import dev.roundhouse.devicecheck.step.Transfers;
import dev.roundhouse.devicecheck.step.WeightLoads;
import dev.roundhouse.devicecheck.step.WorkerProcess;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;

/** Every step, in the order they run: what is most likely to do harm comes last. */
final class Steps {
  static final List<Step> ALL =
      List.of(
          new Describe(),
          new Contract(),
          new Samples(),
          new WorkerProcess(),
          new SharedGpuMemory(),
          new CallOverhead(),
          new HotModelRate(),
          new Transfers(),
          new CompileTimes(),
          new Overlap(),
          new WeightLoads(),
          new HostWeightLoads(),
          new ManyModels(),
          new LyingBudget(),
          new OutOfMemory());

  private Steps() {}

  /**
   * The steps of these names, in their own order.
   *
   * @throws IllegalArgumentException naming the one that does not exist
   */
  static List<Step> named(List<String> names) {
    List<String> unknown = new ArrayList<>(names);
    ALL.forEach(step -> unknown.remove(step.name()));
    if (!unknown.isEmpty()) {
      throw new IllegalArgumentException(
          "there is no step '%s', or it is named twice; there are %s"
              .formatted(
                  unknown.getFirst(),
                  ALL.stream().map(Step::name).collect(Collectors.joining(", "))));
    }
    return ALL.stream().filter(step -> names.contains(step.name())).toList();
  }
}
