package dev.roundhouse.engine.residency;

import dev.roundhouse.engine.device.Device.HostMemory;
import dev.roundhouse.engine.evict.EvictionPolicy;
import dev.roundhouse.engine.evict.ExpectedUse;
import java.util.OptionalLong;
import java.util.function.Supplier;

/**
 * How weights come to the device and leave it.
 *
 * @param use {@link HostMemory#ALIAS} lets a device that can read the host's memory in place do so
 * @param deviceBytes what the device may give out, weights and scratch together; empty for what the
 *     device says, and no limit where it says nothing
 * @param fraction of it that weights may take, in (0, 1]
 * @param wiggle part of it that is left for what the allocator cannot use, in [0, 1)
 * @param selfManaged true to bring weights when requests wait for them; false to bring only what
 *     the operator asks for, and refuse requests for others
 * @param partBytes of the parts that large tensors go to the device in, at the least: on a fast
 *     link they grow to four times as much; {@link #PARTS_ON_LINK} of them are on the link at a
 *     time
 * @param policy makes what decides which weights leave; asked once per engine
 */
public record ResidencyOptions(
    HostMemory use,
    OptionalLong deviceBytes,
    double fraction,
    double wiggle,
    boolean selfManaged,
    long partBytes,
    Supplier<EvictionPolicy> policy) {

  public static final int PARTS_ON_LINK = 2;

  /** Weights are read in place where that can be; what the device says it has is what there is. */
  public static final ResidencyOptions DEFAULT =
      new ResidencyOptions(
          HostMemory.ALIAS, OptionalLong.empty(), 1, 0.1, true, 2 << 20, ExpectedUse::new);

  public ResidencyOptions {
    require(
        deviceBytes.isEmpty() || deviceBytes.getAsLong() >= 1,
        "deviceBytes",
        deviceBytes,
        "1 or more");
    require(fraction > 0 && fraction <= 1, "fraction", fraction, "in (0, 1]");
    require(partBytes >= 1, "partBytes", partBytes, "1 or more");
    require(wiggle >= 0 && wiggle < 1, "wiggle", wiggle, "in [0, 1)");
  }

  private static void require(boolean holds, String option, Object value, String bounds) {
    if (!holds) {
      throw new IllegalArgumentException(
          "residency option " + option + " is " + value + "; it must be " + bounds);
    }
  }

  public ResidencyOptions withUse(HostMemory value) {
    return new ResidencyOptions(
        value, deviceBytes, fraction, wiggle, selfManaged, partBytes, policy);
  }

  public ResidencyOptions withDeviceBytes(long bytes) {
    return new ResidencyOptions(
        use, OptionalLong.of(bytes), fraction, wiggle, selfManaged, partBytes, policy);
  }

  public ResidencyOptions withWiggle(double value) {
    return new ResidencyOptions(use, deviceBytes, fraction, value, selfManaged, partBytes, policy);
  }

  public ResidencyOptions withPolicy(Supplier<EvictionPolicy> value) {
    return new ResidencyOptions(use, deviceBytes, fraction, wiggle, selfManaged, partBytes, value);
  }

  public ResidencyOptions withFraction(double value) {
    return new ResidencyOptions(use, deviceBytes, value, wiggle, selfManaged, partBytes, policy);
  }

  public ResidencyOptions withSelfManaged(boolean value) {
    return new ResidencyOptions(use, deviceBytes, fraction, wiggle, value, partBytes, policy);
  }

  public ResidencyOptions withPartBytes(long value) {
    return new ResidencyOptions(use, deviceBytes, fraction, wiggle, selfManaged, value, policy);
  }
}
