package dev.roundhouse.kserve.codec;

import dev.roundhouse.bundle.request.RequestOptions;
import java.util.List;

/**
 * A ModelInfer request, decoded and checked in itself; nothing is known yet about the model.
 *
 * @param modelVersion a positive decimal number, or empty for the version that is served
 * @param id empty for none
 * @param requestedOutputs without duplicates, empty for all
 * @param options how it is to be treated
 * @param wantsEmptyEnd whether the end of a decoupled model's answer is to be told by a message of
 *     its own where no last part tells it
 */
public record WireRequest(
    String modelName,
    String modelVersion,
    String id,
    List<WireInput> inputs,
    List<RequestedOutput> requestedOutputs,
    RequestOptions options,
    boolean wantsEmptyEnd) {
  /** The same with an id and inputs of another. */
  WireRequest with(String id, List<WireInput> inputs) {
    return new WireRequest(
        modelName, modelVersion, id, inputs, requestedOutputs, options, wantsEmptyEnd);
  }
}
