package dev.roundhouse.bundle.weights;

/** Weights whose files are open. Closed by whoever opened them. */
public interface OpenWeights extends WeightSource, AutoCloseable {
  @Override
  void close();
}
