package dev.roundhouse.kserve.codec;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A ModelInfer request, decoded and checked in itself; nothing is known yet about the model.
 *
 * @param modelVersion a positive decimal number, or empty for the version that is served
 * @param id empty for none
 * @param requestedOutputs without duplicates, empty for all
 * @param timeoutNanos the caller's remaining budget, or {@link #NO_TIMEOUT}
 * @param priority level among the model's priorities, 1 first; 0 for the model's default
 * @param queueTimeoutNanos how long it may wait to run; 0 for the model's default
 * @param sequence null when it names none
 * @param wantsTimings whether the answer is to tell where the time went
 */
public record WireRequest(
    String modelName,
    String modelVersion,
    String id,
    List<WireInput> inputs,
    List<RequestedOutput> requestedOutputs,
    long timeoutNanos,
    long priority,
    long queueTimeoutNanos,
    @Nullable SequenceParameters sequence,
    boolean wantsTimings) {
  public static final long NO_TIMEOUT = Long.MAX_VALUE;

  /** The same with an id and inputs of another. */
  WireRequest with(String id, List<WireInput> inputs) {
    return new WireRequest(
        modelName,
        modelVersion,
        id,
        inputs,
        requestedOutputs,
        timeoutNanos,
        priority,
        queueTimeoutNanos,
        sequence,
        wantsTimings);
  }
}
