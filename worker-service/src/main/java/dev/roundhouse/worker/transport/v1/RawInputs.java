package dev.roundhouse.worker.transport.v1;

import dev.roundhouse.kserve.codec.MessageMemory;
import dev.roundhouse.kserve.status.WireException;
import java.nio.ByteBuffer;

/** The bytes of a request's inputs, to be taken in their order. For one thread. */
interface RawInputs {
  /** Of a size that the request does not tell. */
  long UNKNOWN = -1;

  /**
   * The bytes of the next input that is not in shared memory.
   *
   * @param byteSize that the request promises, or {@link #UNKNOWN}
   * @return read-only
   * @throws WireException when they are not there
   */
  ByteBuffer next(String input, long byteSize);

  /** Of all of them. */
  MessageMemory memory();

  /**
   * An input is in shared memory.
   *
   * @throws WireException when it has bytes here as well
   */
  void skip(String input);

  /**
   * @throws WireException when there are bytes that belong to no input
   */
  void requireEnd();
}
