package dev.roundhouse.worker.actuator;

import com.fasterxml.jackson.annotation.JsonInclude;
import dev.roundhouse.worker.actuator.ModelDetails.RunCounts;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The scheduler as {@code /actuator/scheduler} shows it; {@code docs/actuator.md} says what each
 * field means.
 */
@JsonInclude // null says that something is not known, or that nothing runs
public record SchedulerDetails(
    String discipline,
    Parameters parameters,
    @Nullable String unknownBecause,
    @Nullable String running,
    @Nullable String armed,
    @Nullable Double longestCycleMicros,
    Queued queued,
    Totals totals,
    List<Tenant> tenants,
    List<Lane> models) {

  /** What the discipline was told; null what it does not use. */
  @JsonInclude
  public record Parameters(
      @Nullable Double emaHalfLifeSeconds,
      @Nullable Double recencyPenaltyCap,
      double costEmaAlpha,
      double maxQueueDelayMicros) {}

  /** What waits in all queues together, and how much may. */
  public record Queued(long requests, int maxRequestsPerModel, long bytes, long maxBytes) {}

  /**
   * Who shares the device.
   *
   * @param deviceSeconds that it has had; null when the dispatch thread did not say
   */
  @JsonInclude
  public record Tenant(String name, double weight, @Nullable Double deviceSeconds) {}

  /** Sums over all models. */
  @JsonInclude
  public record Totals(
      int readyModels, @Nullable Integer heldModels, RequestCounts requests, RunCounts runs) {}

  /** A ready model's place in the schedule. */
  @JsonInclude
  public record Lane(
      String name,
      @Nullable Double weight,
      @Nullable Double share,
      @Nullable Double deficit,
      @Nullable Boolean held,
      int queueDepth,
      double oldestWaitMicros) {

    static Lane of(ModelDetails model) {
      return new Lane(
          model.name(),
          model.weight(),
          model.share(),
          model.deficit(),
          model.held(),
          model.queueDepth(),
          model.oldestWaitMicros());
    }
  }
}
