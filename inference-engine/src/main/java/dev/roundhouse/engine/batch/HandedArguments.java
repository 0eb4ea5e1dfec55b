package dev.roundhouse.engine.batch;

import dev.roundhouse.engine.device.DeviceBuffer;
import dev.roundhouse.engine.layout.ProgramLayout;
import dev.roundhouse.engine.request.InputTensor;
import dev.roundhouse.engine.state.ArgumentsOnDevice;
import dev.roundhouse.engine.state.HandedTensor;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** What earlier calls have left on the device and one request's run takes as it is. */
final class HandedArguments implements ArgumentsOnDevice {
  private final List<InputTensor> inputs;
  private final @Nullable DeviceBuffer[] buffers;
  private long byteSize;

  private HandedArguments(List<InputTensor> inputs) {
    this.inputs = inputs;
    buffers = new @Nullable DeviceBuffer[inputs.size()];
  }

  /**
   * Borrows what is of the very type that the program takes.
   *
   * @param inputs of the only request of a batch, in the order the program takes them
   * @return null when there is nothing
   */
  static @Nullable HandedArguments of(List<InputTensor> inputs, ProgramLayout program) {
    HandedArguments borrowed = null;
    for (int i = 0; i < inputs.size(); i++) {
      if (inputs.get(i).data() instanceof HandedTensor handed
          && handed.type().equals(program.input(i).type())) {
        borrowed = borrowed == null ? new HandedArguments(inputs) : borrowed;
        DeviceBuffer buffer = handed.borrow();
        borrowed.buffers[i] = buffer;
        borrowed.byteSize += buffer == null ? 0 : handed.byteSize();
      }
    }
    return borrowed;
  }

  @Override
  public @Nullable DeviceBuffer argument(int input) {
    return buffers[input];
  }

  @Override
  public long byteSize() {
    return byteSize;
  }

  @Override
  public void release() {
    for (int i = 0; i < buffers.length; i++) {
      if (buffers[i] != null && inputs.get(i).data() instanceof HandedTensor handed) {
        buffers[i] = null;
        handed.release();
      }
    }
  }
}
