package dev.roundhouse.worker.config;

import dev.roundhouse.platform.config.DataSizeRange;
import jakarta.validation.constraints.DecimalMax;
import jakarta.validation.constraints.DecimalMin;
import jakarta.validation.constraints.Max;
import jakarta.validation.constraints.Min;
import java.net.InetAddress;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.hibernate.validator.constraints.time.DurationMin;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.bind.DefaultValue;
import org.springframework.util.unit.DataSize;

/**
 * Which requests are copied, with their answers, for those who learn from them ([tee.md](tee.md)).
 *
 * @param models Models whose answered requests are copied; a `*` at the end stands for any rest.
 *     Empty: nothing is copied.
 * @param sampleRatio Part of those requests that are copied.
 * @param batchSize Rows of a batch. A request without rows is one.
 * @param numBuffers Batches that there is room for of each model, the one that fills included.
 * @param maxMemory Of the batches of all models together. A model for which it has no room is not
 *     copied.
 * @param maxWaiting Of requests with more than 64 KiB whose answers wait while they are copied:
 *     those beyond are answered and not copied. It bounds how late an answer is for being copied.
 * @param folder Where batches are written as files in the format of safetensors, one for each;
 *     empty for no files. No other worker may write there.
 * @param folderSize Of all those files together; the oldest make room.
 * @param port TCP port that learners connect to; 0 for any that is free, -1 for none.
 * @param address Address of that port.
 * @param socket Path of a socket in the file system, for learners on the same machine. Who may
 *     write to it may connect.
 * @param handshakeTimeout For a learner to say which model it wants.
 * @param acknowledgeTimeout For a learner to acknowledge a batch; then its connection ends, so that
 *     another can take its place.
 */
public record TeeProperties(
    @DefaultValue List<String> models,
    @DecimalMin("0") @DecimalMax("1") @DefaultValue("1") double sampleRatio,
    @Min(1) @Max(1 << 20) @DefaultValue("256") int batchSize,
    @Min(2) @Max(1024) @DefaultValue("3") int numBuffers,
    @DataSizeRange(min = "1KB", max = "16TB") @DefaultValue("1GB") DataSize maxMemory,
    @DataSizeRange(min = "64KB", max = "16GB") @DefaultValue("16MB") DataSize maxWaiting,
    @Nullable Path folder,
    @DataSizeRange(min = "1KB", max = "1000TB") @DefaultValue("10GB") DataSize folderSize,
    @Min(-1) @Max(65535) @DefaultValue("-1") int port,
    @DefaultValue("127.0.0.1") InetAddress address,
    @Nullable Path socket,
    @DurationMin(millis = 1) @DefaultValue("5s") Duration handshakeTimeout,
    @DurationMin(millis = 1) @DefaultValue("5m") Duration acknowledgeTimeout) {

  public TeeProperties {
    models = List.copyOf(models);
  }

  /** Whether any model is copied. */
  public boolean isOn() {
    return !models.isEmpty();
  }

  /** Whether learners can connect. */
  public boolean isListening() {
    return port >= 0 || socket != null;
  }
}
