package dev.roundhouse.engine.model;

import dev.roundhouse.bundle.tensor.BytesLayout;
import dev.roundhouse.bundle.tensor.DType;
import dev.roundhouse.engine.device.DeviceException;
import dev.roundhouse.engine.queue.RefusedException;
import dev.roundhouse.engine.request.InputTensor;
import dev.roundhouse.engine.request.Status;
import dev.roundhouse.engine.request.TensorData;
import java.io.UncheckedIOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;

/**
 * BYTES inputs of which nobody else can change the lengths once they have been checked. Those in
 * memory that a client shares are copied; admission has counted that.
 */
final class OwnedStrings {
  private OwnedStrings() {}

  /**
   * The inputs, all BYTES in one piece. May wait for a device.
   *
   * @return the same list when nothing had to be copied
   * @throws RefusedException when memory cannot be read, or does not hold the elements
   */
  static List<InputTensor> of(String model, List<InputTensor> inputs) throws RefusedException {
    List<InputTensor> owned = null;
    for (int i = 0; i < inputs.size(); i++) {
      InputTensor input = inputs.get(i);
      if (input.dtype() != DType.BYTES || input.data() instanceof TensorData.Contiguous) {
        continue;
      }
      owned = owned == null ? new ArrayList<>(inputs) : owned;
      owned.set(i, copied(model, input));
    }
    return owned == null ? inputs : owned;
  }

  private static InputTensor copied(String model, InputTensor input) throws RefusedException {
    String place = "inference input '%s' for model '%s'".formatted(input.name(), model);
    long size = input.data().byteSize();
    MemorySegment copy = allocate(size, place);
    try {
      input.data().copyTo(0, copy, 0, size);
    } catch (DeviceException e) {
      throw new RefusedException(
          Status.INTERNAL, "%s could not be read: %s".formatted(place, e.getMessage()));
    } catch (RuntimeException e) {
      Throwable cause = e instanceof UncheckedIOException wrapper ? wrapper.getCause() : null;
      throw RefusedException.invalid(
          "%s could not be read when its turn came (%s); keep its memory open and as large as it was until the request has ended"
              .formatted(place, (cause == null ? e : cause).getMessage()));
    }
    try {
      BytesLayout.check(copy, input.shape().elementCount(), place);
    } catch (IllegalArgumentException e) {
      throw RefusedException.invalid(String.valueOf(e.getMessage()));
    }
    return new InputTensor(
        input.name(), input.dtype(), input.shape(), TensorData.of(copy.asReadOnly()));
  }

  private static MemorySegment allocate(long size, String place) throws RefusedException {
    try {
      return Arena.ofAuto().allocate(size);
    } catch (OutOfMemoryError e) {
      throw new RefusedException(
          Status.RESOURCE_EXHAUSTED,
          "the server has no memory for the %d bytes of %s; retry later".formatted(size, place));
    }
  }
}
