package dev.roundhouse.worker.actuator;

import com.fasterxml.jackson.annotation.JsonInclude;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What is on the device, as {@code /actuator/residency} shows it; {@code docs/actuator.md} says
 * what each field means.
 */
@JsonInclude // null says that something is not known
public record ResidencyDetails(
    String mode,
    String policy,
    @Nullable String unknownBecause,
    @Nullable Device device,
    Totals totals,
    List<Model> models) {

  /** Bytes of device memory. */
  @JsonInclude
  public record Device(
      @Nullable Long weightBudgetBytes,
      long scratchBytes,
      long residentBytes,
      long pinnedBytes,
      long loadingBytes) {}

  /** Sums over all models. */
  public record Totals(
      int models, int resident, long weightBytes, long loads, long evictions, double loadSeconds) {}

  /** A ready model's weights. */
  @JsonInclude
  public record Model(
      String name,
      String version,
      @Nullable String state,
      @Nullable Boolean pinned,
      long weightBytes,
      int queueDepth,
      @Nullable Double sinceUsedSeconds,
      @Nullable Double nextUseSeconds,
      long loads,
      long evictions,
      double loadSeconds) {}
}
