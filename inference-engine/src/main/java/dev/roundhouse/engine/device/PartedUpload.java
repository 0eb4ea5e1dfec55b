package dev.roundhouse.engine.device;

import java.lang.foreign.MemorySegment;

/**
 * A tensor that goes to the device part by part, so that what else is to cross the link need not
 * wait for all of it. Not thread-safe.
 */
public interface PartedUpload {

  /**
   * The tensor, which is ready when its last part has arrived. Owned by whoever began the upload,
   * from the beginning: closing it gives up the parts that are missing.
   */
  DeviceBuffer buffer();

  /**
   * Hands the next part over.
   *
   * @param part follows what has been handed over so far; at most what is left of the tensor.
   *     Borrowed until it has arrived
   * @return when {@code part} is on the device and the caller's again
   * @throws DeviceException when it is more than is left, cannot be read, or the buffer is closed
   */
  Arrival write(MemorySegment part);
}
