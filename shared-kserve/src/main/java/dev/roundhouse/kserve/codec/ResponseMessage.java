package dev.roundhouse.kserve.codec;

import java.util.List;
import java.util.Map;

/**
 * An answer to a ModelInfer request, whatever it is written in.
 *
 * @param modelVersion empty when nobody answered
 * @param id of the request, echoed
 * @param parameters that the server tells, in the order to be told
 * @param outputs borrowed until the answer is written
 */
public record ResponseMessage(
    String modelName,
    String modelVersion,
    String id,
    Map<String, ParameterValue> parameters,
    List<ResponseTensor> outputs) {}
