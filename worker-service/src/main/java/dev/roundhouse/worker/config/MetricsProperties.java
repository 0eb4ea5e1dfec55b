package dev.roundhouse.worker.config;

import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * What a scrape of `/metrics` has ([metrics.md](metrics.md)).
 *
 * @param perModel Which models have series of their own: `all` that are ready; `used`, those of
 *     them that have been sent a request since the start; `none`, series are sums over all models,
 *     with an empty label `model`, and there are none of single models by other servers' names.
 * @param tritonNames Whether there are series by Triton's names too (`nv_inference_*`).
 * @param upstreamNames Whether there are series by ReactantServer's names too (`worker_*`).
 */
public record MetricsProperties(
    @DefaultValue("all") PerModel perModel,
    @DefaultValue("true") boolean tritonNames,
    @DefaultValue("true") boolean upstreamNames) {

  /** Which models have series of their own. */
  public enum PerModel {
    ALL,
    USED,
    NONE
  }
}
