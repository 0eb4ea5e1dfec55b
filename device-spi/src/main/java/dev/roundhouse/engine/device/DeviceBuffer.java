package dev.roundhouse.engine.device;

import dev.roundhouse.bundle.tensor.TensorType;
import java.lang.foreign.MemorySegment;
import java.util.Optional;

/**
 * A tensor on a device, dense and row-major. Owned by its receiver; closed once, never while an
 * execution borrows it or a read is under way.
 *
 * <p>An upload may return before the bytes have crossed the link. A run that is given the tensor
 * earlier waits for them.
 *
 * <p>Reads may run on any threads, several at once and beside {@link Device#execute}: an output is
 * read while the next run is under way.
 */
public interface DeviceBuffer extends Arrival, AutoCloseable {

  TensorType type();

  /**
   * Copies bytes to the host and waits for them.
   *
   * @param offset first byte of the tensor to copy
   * @param target filled entirely; borrowed for the call
   * @throws DeviceException when the range is outside the tensor, the buffer is closed, {@code
   *     target} cannot be written by this thread, or the execution that should have made it failed
   */
  void read(long offset, MemorySegment target);

  /**
   * The bytes of a run's output where they are, without a copy: for any thread, to be read and not
   * written, dense and row-major. They live as long as the tensor: closing it does not wait for
   * readers, so do not read them afterwards. Nothing writes to them before.
   *
   * @return empty where the host does not read device memory, or when they are not the output's
   *     alone; {@link #read} copies them then. Of what was uploaded, or {@linkplain Execution#take
   *     taken} from its run, always
   * @throws DeviceException INVALID_ARGUMENT when the end of the run has not been noticed (see
   *     {@link Execution}), CLOSED, or what the run failed of
   */
  default Optional<MemorySegment> view() {
    return Optional.empty();
  }

  /**
   * Waits for an upload that is still under way. Closing twice is harmless.
   *
   * @throws DeviceException when a run or read uses it; it stays open then
   */
  @Override
  void close();
}
