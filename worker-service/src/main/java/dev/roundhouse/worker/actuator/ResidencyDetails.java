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
    Host host,
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

  /** Weights in host memory, and what was read again from files. */
  @JsonInclude
  public record Host(
      @Nullable Long budgetBytes,
      long heldBytes,
      long sharedBytes,
      long savedBytes,
      long reads,
      long readBytes,
      double readSeconds,
      long evictions) {}

  /** A model's weights in host memory. */
  public record OnHost(String kind, long heldBytes, boolean shared, boolean pageLocked) {}

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
      OnHost host,
      int queueDepth,
      @Nullable Double sinceUsedSeconds,
      @Nullable Double nextUseSeconds,
      long loads,
      long evictions,
      double loadSeconds) {}
}
