package dev.roundhouse.worker.config;

import jakarta.validation.constraints.Min;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * Which requests are traced from the start. TraceSetting changes all of it but the file while the
 * worker runs.
 *
 * @param file Where traces are written, in Triton's JSON; what is there is replaced. Empty: nothing
 *     can be traced.
 * @param level `timestamps` traces when each stage of a request began, `off` nothing.
 * @param rate One of so many requests is traced.
 * @param count Requests to trace, then no more; -1 for no end.
 * @param logFrequency Traces in a file: it is followed by another, and `.0`, `.1` and so on stand
 *     behind its name. 0: all go into one file.
 */
public record TraceProperties(
    @DefaultValue("") String file,
    @DefaultValue("off") Level level,
    @Min(1) @DefaultValue("1000") int rate,
    @Min(-1) @DefaultValue("-1") int count,
    @Min(0) @DefaultValue("0") int logFrequency) {

  /** What is traced of a request. */
  public enum Level {
    OFF,
    TIMESTAMPS
  }
}
