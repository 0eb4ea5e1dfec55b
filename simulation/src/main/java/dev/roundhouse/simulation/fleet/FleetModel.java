package dev.roundhouse.simulation.fleet;

import dev.roundhouse.bundle.ProgramCode;
import dev.roundhouse.bundle.model.Axis;
import dev.roundhouse.bundle.model.ModelSpec;
import dev.roundhouse.bundle.model.ServingDefaults;
import dev.roundhouse.bundle.model.TensorSpec;
import dev.roundhouse.bundle.model.Variant;
import dev.roundhouse.bundle.tensor.DType;
import dev.roundhouse.engine.model.ModelImage;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * A model of the simulation: one I64 per row in, one out.
 *
 * @param index in the fleet
 * @param weight of its share of the device
 * @param batchSizes compiled sizes, ascending
 * @param weightBytes of its weights
 */
public record FleetModel(
    int index,
    String name,
    double weight,
    List<Integer> batchSizes,
    CostCurve cost,
    long weightBytes) {
  /** Name of the one input. */
  public static final String INPUT = "rows";

  private static final String OUTPUT = "answers";
  private static final String VERSION = "1";

  public FleetModel {
    batchSizes = List.copyOf(batchSizes);
  }

  /** One without weights. */
  public FleetModel(
      int index, String name, double weight, List<Integer> batchSizes, CostCurve cost) {
    this(index, name, weight, batchSizes, cost, 0);
  }

  public int largestBatch() {
    return batchSizes.getLast();
  }

  /** Device time of a request that runs alone, in the pieces that its rows need. */
  public long nanosAlone(int rows) {
    long full = (long) (rows / largestBatch()) * cost.nanos(largestBatch());
    int rest = rows % largestBatch();
    for (int size : batchSizes) {
      if (rest > 0 && size >= rest) {
        return full + cost.nanos(size);
      }
    }
    return full;
  }

  /** What the engine loads. */
  public ModelImage image() {
    int elements = Math.toIntExact(FleetMemory.scaled(weightBytes) / Float.BYTES);
    List<ProgramCode> programs =
        batchSizes.stream().<ProgramCode>map(size -> RowProgram.of(size, elements)).toList();
    return new ModelImage(VERSION, spec(), programs, FleetWeights.of(elements));
  }

  /** What the device calls the program of a batch size. */
  String programName(int batchSize) {
    return name + "/" + RowProgram.name(batchSize);
  }

  private ModelSpec spec() {
    List<Axis> axes = List.of(Axis.BATCH, new Axis.Fixed(1));
    return new ModelSpec(
        name,
        "3",
        ModelSpec.Kind.MODEL,
        "simulated",
        List.of(new TensorSpec(INPUT, DType.I64, axes)),
        List.of(new TensorSpec(OUTPUT, DType.I64, axes)),
        Optional.empty(),
        batchSizes,
        List.of(Variant.SINGLE),
        List.of(),
        new ServingDefaults(weight),
        Map.of());
  }
}
