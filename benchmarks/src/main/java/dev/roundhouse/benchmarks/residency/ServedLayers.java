package dev.roundhouse.benchmarks.residency;

/**
 * A name under which one of two sets of weights answers, which are replaced by each other. Any
 * thread may ask.
 *
 * @param model of the first
 * @param first what the first number of its answer to zeros is
 * @param second what that of the other is
 */
record ServedLayers(String name, LayeredModel model, float first, float second) {

  static ServedLayers of(String name, LayeredModel model, LayeredModel twin) {
    return new ServedLayers(name, model, model.answer(), twin.answer());
  }

  /** Whether a first number of an answer to zeros is that of either. */
  boolean isAnswer(float number) {
    return number == first || number == second;
  }
}
