package dev.roundhouse.engine.embedded;

import dev.roundhouse.engine.request.Outcome;
import java.util.Map;
import java.util.NoSuchElementException;

/**
 * What came out of an inference.
 *
 * @param modelVersion that answered
 * @param outputs by name, in the model's order
 * @param timings where the time went
 */
public record Inference(String modelVersion, Map<String, Tensor> outputs, Outcome.Timings timings) {

  /**
   * @throws NoSuchElementException when the model has no such output
   */
  public Tensor output(String name) {
    Tensor tensor = outputs.get(name);
    if (tensor == null) {
      throw new NoSuchElementException(
          "there is no output '" + name + "'; there are " + outputs.keySet());
    }
    return tensor;
  }
}
