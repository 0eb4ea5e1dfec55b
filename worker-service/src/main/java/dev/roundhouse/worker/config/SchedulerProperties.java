package dev.roundhouse.worker.config;

import dev.roundhouse.platform.config.DataSizeRange;
import jakarta.validation.constraints.DecimalMax;
import jakarta.validation.constraints.Max;
import jakarta.validation.constraints.Min;
import jakarta.validation.constraints.NotBlank;
import jakarta.validation.constraints.Positive;
import java.time.Duration;
import org.hibernate.validator.constraints.time.DurationMax;
import org.hibernate.validator.constraints.time.DurationMin;
import org.springframework.boot.context.properties.bind.DefaultValue;
import org.springframework.util.unit.DataSize;

/**
 * Which model runs next.
 *
 * @param discipline `fair` gives each model its share by weight over the last while, cheap ones
 *     first; `virtual-time` gives each its share within one run of each, always; `edf` runs the
 *     earliest deadline and drops what cannot be answered in time; `fifo` runs what has waited
 *     longest.
 * @param emaHalfLife For `fair`: after this long, device time counts half.
 * @param recencyPenaltyCap For `fair`: how far recent use can count at most.
 * @param costEmaAlpha How much the latest run counts in what a run is expected to cost.
 * @param maxQueueDepth Requests that may wait per model; further ones are refused with
 *     RESOURCE_EXHAUSTED.
 * @param maxQueuedBytes Bytes that accepted requests of all models may need together: their inputs
 *     until they have ended, and the answers they were promised until those have been written; what
 *     would exceed them is refused with RESOURCE_EXHAUSTED.
 * @param maxQueueDelay How long a batch that could still become larger may be held for more
 *     requests, never past the latest start that meets every member's deadline; `0ms` holds none.
 * @param costFile Where what runs cost is kept, so that a restart knows it. `auto`: `costs.json` in
 *     the cache directory (`ROUNDHOUSE_CACHE`, else `roundhouse` in `XDG_CACHE_HOME`, else
 *     `.cache/roundhouse` in `HOME`); `none`: it is not kept. Written every minute and when the
 *     worker stops; workers may share it.
 */
public record SchedulerProperties(
    @DefaultValue("fair") Discipline discipline,
    @DurationMin(millis = 1) @DefaultValue("30s") Duration emaHalfLife,
    @Positive @DecimalMax("1") @DefaultValue("0.25") double recencyPenaltyCap,
    @Positive @DecimalMax("1") @DefaultValue("0.2") double costEmaAlpha,
    @Min(1) @Max(1_000_000) @DefaultValue("1024") int maxQueueDepth,
    @DataSizeRange(min = "1KB", max = "16TB") @DefaultValue("1GB") DataSize maxQueuedBytes,
    @DurationMin(millis = 0) @DurationMax(minutes = 1) @DefaultValue("0ms") Duration maxQueueDelay,
    @NotBlank @DefaultValue("auto") String costFile) {

  /** Known disciplines. */
  public enum Discipline {
    FAIR,
    FIFO,
    EDF,
    VIRTUAL_TIME
  }
}
