package dev.roundhouse.worker.config;

import dev.roundhouse.platform.config.DataSizeRange;
import jakarta.validation.constraints.Max;
import jakarta.validation.constraints.Min;
import jakarta.validation.constraints.NotEmpty;
import java.util.List;
import org.springframework.boot.context.properties.bind.DefaultValue;
import org.springframework.util.unit.DataSize;

/**
 * Which requests are traced from the start. TraceSetting changes all of it but the file while the
 * worker runs.
 *
 * @param file Where traces are written, in Triton's JSON; what is there is replaced. Empty: nothing
 *     can be traced.
 * @param level `timestamps` traces when each stage of a request began, `tensors` its inputs and
 *     outputs, `timestamps,tensors` both, `off` nothing.
 * @param rate One of so many requests is traced.
 * @param count Requests to trace, then no more; -1 for no end.
 * @param logFrequency Traces in a file: it is followed by another, and `.0`, `.1` and so on stand
 *     behind its name. 0: all go into one file.
 * @param maxFiles Files with a number behind their name, whatever `log_frequency` clients set; the
 *     oldest is replaced, and after the last number comes `.0` again.
 * @param maxBytes Of all files of traces together; for more the oldest with a number is removed,
 *     and what has no room then is dropped, with one warning and in
 *     `roundhouse_traces_dropped_total`.
 * @param maxTensorBytes Of the inputs of a request together, and as much of its outputs, that are
 *     traced; of what is more a trace says how many bytes were left out. They count against
 *     `scheduler.max-queued-bytes` until they are written, and are left out when it has no room.
 */
public record TraceProperties(
    @DefaultValue("") String file,
    @NotEmpty @DefaultValue("off") List<Level> level,
    @Min(1) @DefaultValue("1000") int rate,
    @Min(-1) @DefaultValue("-1") int count,
    @Min(0) @DefaultValue("0") int logFrequency,
    @Min(1) @Max(100_000) @DefaultValue("100") int maxFiles,
    @DataSizeRange(min = "1MB", max = "16TB") @DefaultValue("1GB") DataSize maxBytes,
    @DataSizeRange(min = "1B", max = "1MB") @DefaultValue("64KB") DataSize maxTensorBytes) {

  /** What is traced of a request. */
  public enum Level {
    OFF,
    TIMESTAMPS,
    TENSORS
  }
}
