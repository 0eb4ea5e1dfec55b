package dev.roundhouse.engine.residency;

import dev.roundhouse.bundle.model.ModelSpec;
import dev.roundhouse.bundle.model.ServingDefaults;
import dev.roundhouse.bundle.weights.Weight;
import dev.roundhouse.bundle.weights.WeightSource;
import dev.roundhouse.engine.device.Device;
import dev.roundhouse.engine.device.DeviceException;
import dev.roundhouse.engine.device.DeviceException.Code;
import dev.roundhouse.engine.device.DeviceMemory;
import dev.roundhouse.engine.hostweights.HostWeightStore;
import dev.roundhouse.engine.hostweights.HostWeightsKind;
import dev.roundhouse.engine.state.DeviceStates;
import dev.roundhouse.engine.time.NanoClock;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.function.Function;

/**
 * Keeps models' weights in host memory, from when a model is loaded until it is freed, and knows
 * what the device can hold of them. The dispatch thread decides which of them are on the device, in
 * its {@link WeightCache}. Thread-safe.
 */
public final class Residency {
  private final Device device;
  private final HostWeightStore store;
  private final ResidencyOptions options;
  private final Function<ModelSpec, Optional<ServingDefaults.Residency>> wanted;
  private final LoadTimes times = new LoadTimes();
  private final DeviceStates states = new DeviceStates();

  /**
   * @param store where weights wait on the host; borrowed
   * @param wanted where a model's weights are to wait; empty for what {@code store} does with any
   */
  public Residency(
      Device device,
      HostWeightStore store,
      ResidencyOptions options,
      Function<ModelSpec, Optional<ServingDefaults.Residency>> wanted) {
    this.wanted = wanted;
    this.device = device;
    this.store = store;
    this.options = options;
  }

  /**
   * Opens a model's host weights.
   *
   * @param source borrowed for the call
   * @throws DeviceException OUT_OF_MEMORY when the device could not hold them even alone, before
   *     anything is read
   */
  public ModelWeights open(ModelSpec model, WeightSource source) {
    checkFits(source);
    Optional<HostWeightsKind> kind = wanted.apply(model).flatMap(Residency::kind);
    return new ModelWeights(
        kind.isPresent()
            ? store.open(model.name(), source, kind.get())
            : store.open(model.name(), source),
        times,
        arenaBytes().isPresent());
  }

  /** How weights wait on the host; empty when that is not said. */
  private static Optional<HostWeightsKind> kind(ServingDefaults.Residency residency) {
    return switch (residency) {
      case UNPINNED -> Optional.of(HostWeightsKind.RE_READ);
      case PINNED_SYSTEM -> Optional.of(HostWeightsKind.KEPT);
      case PINNED_DEVICE -> Optional.empty();
    };
  }

  /** Has weights that are on the host already wait there in another way from now on. */
  public void keepAs(ModelWeights weights, ServingDefaults.Residency residency) {
    kind(residency).ifPresent(kind -> weights.hostWeights().keepAs(kind));
  }

  private void checkFits(WeightSource source) {
    long needed = 0;
    for (Weight weight : source.arguments()) {
      needed = Math.addExact(needed, weight.type().byteSize());
    }
    OptionalLong arena = arenaBytes();
    if (arena.isPresent() && needed > arena.getAsLong()) {
      throw new DeviceException(
          Code.OUT_OF_MEMORY,
          "its weights need %d bytes of device memory and the device has %d in all; use a device with more memory"
              .formatted(needed, arena.getAsLong()));
    }
  }

  /** What the device may give out; empty when nobody knows. */
  OptionalLong arenaBytes() {
    DeviceMemory memory = device.memory();
    OptionalLong own = memory.limit();
    OptionalLong configured = options.deviceBytes();
    if (configured.isEmpty() || own.isEmpty()) {
      return configured.isEmpty() ? own : configured;
    }
    return OptionalLong.of(Math.min(own.getAsLong(), configured.getAsLong()));
  }

  /** False when weights come to the device only when the operator asks for them. */
  public boolean isSelfManaged() {
    return options.selfManaged();
  }

  /** What the dispatch thread decides by. */
  public WeightCache newCache() {
    return new WeightCache(options, arenaBytes(), times, states);
  }

  /** The state of sequences, which has its place beside weights. */
  public DeviceStates states() {
    return states;
  }

  /** What brings weights to the device. */
  public WeightUploader newUploader(NanoClock clock) {
    return new WeightUploader(device, options.use(), options.partBytes(), clock);
  }

  /** Frees a model's weights wherever they are. Takes {@code weights}; nothing may use them. */
  public void close(ModelWeights weights) {
    weights.close();
  }
}
