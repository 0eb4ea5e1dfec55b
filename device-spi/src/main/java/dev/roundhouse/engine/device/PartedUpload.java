package dev.roundhouse.engine.device;

import java.lang.foreign.MemorySegment;

/**
 * Uploads a tensor part by part, so other transfers on the link need not wait for all of it. Not
 * thread-safe.
 */
public interface PartedUpload {

  /**
   * The tensor, which is ready when its last part has arrived. Owned by whoever began the upload,
   * from the beginning: closing it waits for the parts that are on their way and gives up those
   * that are missing. Until the last part has been handed over it is refused to runs, reads and
   * those who would wait for it.
   */
  DeviceBuffer buffer();

  /**
   * Hands the next part over.
   *
   * @param part follows what has been handed over so far; at most what is left of the tensor, and
   *     not of a confined arena, as the device's threads read it. Borrowed, unchanged, until it has
   *     arrived or the buffer is closed
   * @return when {@code part} is on the device and the caller's again; with the last part, when the
   *     whole tensor is there
   * @throws DeviceException when it is more than is left, cannot be read, the buffer is closed, or
   *     a part before it has failed: the upload is of no use then and can only be closed
   */
  Arrival write(MemorySegment part);
}
