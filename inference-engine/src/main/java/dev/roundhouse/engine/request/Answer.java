package dev.roundhouse.engine.request;

import java.util.List;

/**
 * A part of an answer, and the memory it lies in, which may be the device's: not to be written.
 * Belongs to the receiver, which closes it, before the device is; used by one thread at a time.
 *
 * <p>What an answer needs is counted against one budget, so that slow readers cannot fill the
 * memory of the process. A receiver that copies the outputs to its own buffers calls {@link #free}
 * then, and {@link #close} when those are gone.
 */
public interface Answer extends AutoCloseable {

  /** The version that answered. */
  String modelVersion();

  /**
   * Those requested, all when none were named; in the model's order either way. Readable until
   * {@link #free} or {@link #close}.
   */
  List<OutputTensor> outputs();

  /**
   * Outputs that have stayed on the device, for another call of whoever asked for that; not among
   * {@link #outputs}. Usable until {@link #freeHanded}, {@link #free} or {@link #close}.
   */
  default List<InputTensor> handed() {
    return List.of();
  }

  /** Lets go of {@link #handed}. Harmless when repeated. */
  default void freeHanded() {}

  /** False for a part of a decoupled model's answer after which another part or the end comes. */
  default boolean isLast() {
    return true;
  }

  /** Gives the memory of the outputs back; their bytes stay counted. Harmless when repeated. */
  void free();

  /** Gives the memory and its place in the budget back. Harmless when repeated. */
  @Override
  void close();
}
