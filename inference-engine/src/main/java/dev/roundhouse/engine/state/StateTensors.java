package dev.roundhouse.engine.state;

import dev.roundhouse.bundle.model.InitialState;
import java.lang.foreign.MemorySegment;
import java.util.List;

/**
 * Where the state of a model's sequences is among the inputs and outputs of its programs. Not
 * copied; not to be changed.
 *
 * @param inputs by state, the input that it is fed to
 * @param outputs by state, the output that leaves it
 * @param byteSizes by state, of one sequence
 * @param initial by state, what it is before the first step of a sequence
 */
public record StateTensors(
    int[] inputs, int[] outputs, int[] byteSizes, List<InitialState> initial) {

  public StateTensors {
    initial = List.copyOf(initial);
  }

  /** Fills {@code target} with what a state is before the first step. */
  public void copyInitial(int state, long offset, MemorySegment target) {
    initial.get(state).copyTo(offset, target);
  }

  int count() {
    return inputs.length;
  }

  /** Of all states of one sequence. */
  long byteSize() {
    long bytes = 0;
    for (int each : byteSizes) {
      bytes += each;
    }
    return bytes;
  }

  boolean isOutput(int output) {
    for (int each : outputs) {
      if (each == output) {
        return true;
      }
    }
    return false;
  }
}
