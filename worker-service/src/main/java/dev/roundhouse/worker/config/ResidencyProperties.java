package dev.roundhouse.worker.config;

import dev.roundhouse.platform.config.DataSizeRange;
import jakarta.validation.Valid;
import jakarta.validation.constraints.DecimalMax;
import jakarta.validation.constraints.DecimalMin;
import jakarta.validation.constraints.Pattern;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.bind.DefaultValue;
import org.springframework.util.unit.DataSize;

/**
 * Where weights wait, and which are on the device.
 *
 * @param mode `self-managed`: weights come when requests wait for them. `externally-managed`: only
 *     when `SetModelResidency` asks for them; requests for other models are refused.
 * @param deviceMemory What the device may give out, weights and the scratch of runs together.
 *     Unset: what the device says, and no limit where it says nothing, as the `cpu` platform.
 * @param fraction Part of that which weights may take.
 * @param wiggle Part of it that is left for what the allocator cannot use.
 * @param policy Which weights leave when others need the room: `frequency`, those that save the
 *     least load time for their bytes, or `lru`, those that were not used for longest.
 * @param host Weights in host memory.
 */
public record ResidencyProperties(
    @DefaultValue("self-managed") Mode mode,
    @DataSizeRange(min = "1MB", max = "1048576GB") @Nullable DataSize deviceMemory,
    @DecimalMin("0.01") @DecimalMax("1") @DefaultValue("1") double fraction,
    @DecimalMin("0") @DecimalMax("0.9") @DefaultValue("0.1") double wiggle,
    @DefaultValue("frequency") Policy policy,
    @Valid @DefaultValue Host host) {

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

  /**
   * Weights in host memory.
   *
   * @param weights `keep` holds each model's weights in host memory from its load on; `re-read`
   *     reads them from its files, through the page cache, whenever they go to the device.
   * @param budget What weights may take in host memory. Beyond it those that went to the device
   *     longest ago are let go and read from the files again when they are needed. Weights that the
   *     device reads in place cannot be let go. Unset: no limit.
   * @param hugePages Asks the system for pages of 2 MiB.
   * @param shared Holds weights once for all workers of one user on this machine, under `/dev/shm`,
   *     where there is room.
   * @param sharedMode Permissions of what is shared, in octal and in quotes. Nobody but the owner
   *     may write once it is complete, and only workers of the same user read it in place.
   */
  public record Host(
      @DefaultValue("keep") Weights weights,
      @DataSizeRange(min = "0B", max = "1024TB") @Nullable DataSize budget,
      @DefaultValue("true") boolean hugePages,
      @DefaultValue("false") boolean shared,
      @Pattern(
              regexp = "0?6[0246][0246]",
              message =
                  "must be octal in quotes and let the owner read and write, such as \"0660\"")
          @DefaultValue("0660")
          String sharedMode) {}

  /** Whether weights wait in host memory. */
  public enum Weights {
    KEEP,
    RE_READ
  }
}
