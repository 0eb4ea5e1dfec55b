package dev.roundhouse.worker.config;

import jakarta.validation.constraints.DecimalMax;
import jakarta.validation.constraints.DecimalMin;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.bind.DefaultValue;
import org.springframework.util.unit.DataSize;

/**
 * Which models' weights are on the device.
 *
 * @param mode `self-managed`: weights come when requests wait for them. `externally-managed`: only
 *     when `SetModelResidency` asks for them; requests for other models are refused.
 * @param deviceMemory What the device may give out, weights and the scratch of runs together.
 *     Unset: what the device says, and no limit where it says nothing, as the `cpu` platform.
 * @param fraction Part of that which weights may take.
 * @param wiggle Part of it that is left for what the allocator cannot use.
 * @param policy Which weights leave when others need the room: `frequency`, those that save the
 *     least load time for their bytes, or `lru`, those that were not used for longest.
 */
public record ResidencyProperties(
    @DefaultValue("self-managed") Mode mode,
    @DataSizeRange(min = "1MB", max = "1048576GB") @Nullable DataSize deviceMemory,
    @DecimalMin("0.01") @DecimalMax("1") @DefaultValue("1") double fraction,
    @DecimalMin("0") @DecimalMax("0.9") @DefaultValue("0.1") double wiggle,
    @DefaultValue("frequency") Policy policy) {

  /** Who decides what is on the device. */
  public enum Mode {
    SELF_MANAGED,
    EXTERNALLY_MANAGED
  }

  /** Which weights leave. */
  public enum Policy {
    FREQUENCY,
    LRU
  }
}
