package dev.roundhouse.gateway.config;

import dev.roundhouse.gateway.route.FillMode;
import dev.roundhouse.gateway.route.Mode;
import dev.roundhouse.gateway.route.OpeningPolicy;
import dev.roundhouse.gateway.route.WorkBasis;
import dev.roundhouse.gateway.schedule.CompactionMode;
import jakarta.validation.Valid;
import jakarta.validation.constraints.DecimalMax;
import jakarta.validation.constraints.DecimalMin;
import jakarta.validation.constraints.Min;
import jakarta.validation.constraints.Pattern;
import java.util.Map;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * Which worker gets a request.
 *
 * @param mode `round_robin` takes turns, `least_outstanding` asks the worker that is expected to
 *     begin first, `lpt_packing` places models on workers by their load.
 * @param workBasis What a request's work is counted in: `compute` is its items times what an item
 *     has cost, `items` their number, `requests` what a request has cost.
 * @param rebalanceComputeSeconds Device time of all workers together after which models are placed
 *     anew.
 * @param firstRebalanceComputeSeconds The same, the first time; 0 for no difference.
 * @param hysteresis By which part of the best place a model's old one may be worse for it to stay.
 * @param emaHalflifeComputeSeconds Device time after which what was measured counts for half; 0 for
 *     that of `rebalance-compute-seconds`.
 * @param defaultReplicas Workers that a model is placed on: a number, or `all`.
 * @param routingPolicy Which replica is filled next: `fill_least` the one whose worker has least to
 *     do, `fill_rr` the next in turn.
 * @param routingFillMode `run` fills a batch of one replica, then of another; `spread` asks the one
 *     with the fewest items; `inflight` adds to the fullest batch, and may leave replicas idle.
 * @param routingFillFactor Full batches that one replica gets before another does.
 * @param compactionMode What workers that get or lose models are asked to do: `off`, `eager` takes
 *     weights off the device that are not pinned, `scheduled` brings those of its models back too.
 * @param compactionInterval Placements that change something until workers compact again; 0 for
 *     never.
 * @param forbidMemoryOversubscription A model is placed where its weights fit beside those of
 *     others, if there is such a place.
 * @param models Single models, by name.
 */
public record SchedulingProperties(
    @DefaultValue("round_robin") Mode mode,
    @DefaultValue("compute") WorkBasis workBasis,
    @DecimalMin(value = "0", inclusive = false) @DefaultValue("300") double rebalanceComputeSeconds,
    @DecimalMin("0") @DefaultValue("60") double firstRebalanceComputeSeconds,
    @DecimalMin("0") @DecimalMax(value = "1", inclusive = false) @DefaultValue("0")
        double hysteresis,
    @DecimalMin("0") @DefaultValue("0") double emaHalflifeComputeSeconds,
    @Pattern(regexp = REPLICAS, message = "must be a number from 1, or all") @DefaultValue("1")
        String defaultReplicas,
    @DefaultValue("fill_least") OpeningPolicy routingPolicy,
    @DefaultValue("run") FillMode routingFillMode,
    @DecimalMin(value = "0", inclusive = false) @DefaultValue("1") double routingFillFactor,
    @DefaultValue("eager") CompactionMode compactionMode,
    @Min(0) @DefaultValue("1") int compactionInterval,
    @DefaultValue("true") boolean forbidMemoryOversubscription,
    @DefaultValue Map<String, @Valid ModelProperties> models) {
  static final String REPLICAS = "all|[1-9][0-9]{0,5}";

  public SchedulingProperties {
    models = Map.copyOf(models);
  }
}
