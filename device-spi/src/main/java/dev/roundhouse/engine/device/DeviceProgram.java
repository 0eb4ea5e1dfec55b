package dev.roundhouse.engine.device;

import dev.roundhouse.bundle.tensor.TensorType;
import java.util.List;

/** A compiled program on a device. Thread-safe; closed once by its owner, never while it runs. */
public interface DeviceProgram extends AutoCloseable {

  String name();

  /** Types of the arguments in order, weights included. */
  List<TensorType> parameters();

  List<TensorType> results();

  ProgramMemory memory();

  /**
   * Closing twice is harmless.
   *
   * @throws DeviceException when it runs; it stays open then
   */
  @Override
  void close();

  /**
   * Bytes one execution needs, as the compiler counted them.
   *
   * @param tempBytes scratch while it runs
   */
  record ProgramMemory(long argumentBytes, long outputBytes, long tempBytes, long codeBytes) {}
}
