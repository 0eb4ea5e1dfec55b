package dev.roundhouse.worker.config;

import jakarta.validation.constraints.Max;
import jakarta.validation.constraints.Min;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * Which model runs next.
 *
 * @param discipline `fifo` runs the model whose request has waited longest.
 * @param maxQueueDepth Requests that may wait per model; further ones are refused with
 *     RESOURCE_EXHAUSTED.
 */
public record SchedulerProperties(
    @DefaultValue("fifo") Discipline discipline,
    @Min(1) @Max(1_000_000) @DefaultValue("1024") int maxQueueDepth) {

  /** Known disciplines. */
  public enum Discipline {
    FIFO
  }
}
