package dev.roundhouse.engine.state;

/**
 * Where the state of a model's sequences is among the inputs and outputs of its programs. Not
 * copied; not to be changed.
 *
 * @param inputs by state, the input that it is fed to
 * @param outputs by state, the output that leaves it
 * @param byteSizes by state, of one sequence
 */
public record StateTensors(int[] inputs, int[] outputs, int[] byteSizes) {

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
