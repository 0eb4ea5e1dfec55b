package dev.roundhouse.engine.numerics;

import dev.roundhouse.engine.device.DeviceDescription;
import org.jspecify.annotations.Nullable;

/** Whether a device can compute in TF32, by what it says of itself. */
enum Tf32Support {
  YES,
  NO,
  /** It does not say. */
  UNKNOWN;

  /** What XLA's GPU client calls it; TF32 came with 8.0. */
  static final String COMPUTE_CAPABILITY = "compute_capability";

  private static final int FIRST_WITH_TF32 = 8;

  static Tf32Support of(DeviceDescription device) {
    return switch (device.platform()) {
      case "cpu", "simulated" -> NO;
      default -> byCapability(device.attributes().get(COMPUTE_CAPABILITY));
    };
  }

  private static Tf32Support byCapability(@Nullable String capability) {
    if (capability == null || !capability.matches("[0-9]{1,3}(\\.[0-9]{1,3})?")) {
      return UNKNOWN;
    }
    int major = Integer.parseInt(capability.split("\\.", 2)[0]);
    return major >= FIRST_WITH_TF32 ? YES : NO;
  }
}
