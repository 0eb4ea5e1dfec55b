package dev.roundhouse.simulation.fleet;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;

/** All models of a simulation. Immutable. */
public final class Fleet {
  private final List<FleetModel> models;
  private final FleetMemory memory;
  private final Map<String, Program> programs = new HashMap<>();

  public Fleet(List<FleetModel> models) {
    this(models, FleetMemory.UNLIMITED);
  }

  /**
   * @param memory of the device that serves it
   */
  public Fleet(List<FleetModel> models, FleetMemory memory) {
    this.memory = memory;
    if (models.isEmpty()) {
      throw new IllegalArgumentException("a fleet of 0 models serves nothing; have 1 or more");
    }
    this.models = List.copyOf(models);
    for (FleetModel model : models) {
      for (int size : model.batchSizes()) {
        programs.put(model.programName(size), new Program(model, size));
      }
    }
  }

  /**
   * Models whose cost is drawn.
   *
   * @param singleCost of a run of one row
   * @param fixedShare part of that cost that further rows do not add to, 0 to 1
   * @param weights given in turn
   * @param weightBytes of each, drawn
   */
  public static Fleet random(
      int count,
      NanosRange singleCost,
      double fixedShare,
      List<Integer> batchSizes,
      List<Double> weights,
      BytesRange weightBytes,
      FleetMemory memory,
      SplittableRandom random) {
    List<FleetModel> models = new ArrayList<>(count);
    for (int i = 0; i < count; i++) {
      models.add(
          new FleetModel(
              i,
              name(i),
              weights.get(i % weights.size()),
              batchSizes,
              CostCurve.ofSingle(singleCost.draw(random), fixedShare),
              weightBytes.draw(random)));
    }
    return new Fleet(models, memory);
  }

  public static String name(int index) {
    return "model-" + index;
  }

  /** Of the device that serves it. */
  public FleetMemory memory() {
    return memory;
  }

  public List<FleetModel> models() {
    return models;
  }

  public FleetModel model(int index) {
    return models.get(index);
  }

  public int size() {
    return models.size();
  }

  /** The program of that name on the device. */
  Program program(String name) {
    Program program = programs.get(name);
    if (program == null) {
      throw new IllegalArgumentException("no model of the fleet has a program '" + name + "'");
    }
    return program;
  }

  record Program(FleetModel model, int batchSize) {}
}
