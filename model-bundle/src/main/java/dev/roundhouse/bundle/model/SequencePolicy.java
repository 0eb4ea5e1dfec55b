package dev.roundhouse.bundle.model;

import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * State between the requests of one sequence.
 *
 * @param idle after which a silent sequence is forgotten
 * @param state tensors carried by the server from one request to the next
 */
public record SequencePolicy(Duration idle, Controls controls, List<State> state) {
  public SequencePolicy {
    state = List.copyOf(state);
  }

  /** True for an input that the server feeds, and no client sends. */
  public boolean feeds(String input) {
    return controls.names().anyMatch(input::equals)
        || state.stream().anyMatch(carried -> carried.input().equals(input));
  }

  /** True for an output that the server keeps, and no client gets. */
  public boolean keeps(String output) {
    return state.stream().anyMatch(carried -> carried.output().equals(output));
  }

  /** Names of inputs that the server feeds. */
  public record Controls(
      Optional<String> start,
      Optional<String> end,
      Optional<String> ready,
      Optional<String> correlationId) {
    public static final Controls NONE =
        new Controls(Optional.empty(), Optional.empty(), Optional.empty(), Optional.empty());

    private Stream<String> names() {
      return Stream.of(start, end, ready, correlationId).flatMap(Optional::stream);
    }
  }

  /**
   * An output that becomes an input of the sequence's next request.
   *
   * @param initial what the input is in its first
   */
  public record State(String input, String output, InitialState initial) {}
}
