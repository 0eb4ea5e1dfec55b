package dev.roundhouse.engine.device;

import java.util.Set;

/**
 * Compiles programs for a device somewhere else, so that what a compiler does to its process costs
 * one program. Thread-safe.
 */
public interface ProgramCompiler extends AutoCloseable {

  /**
   * Compiles a program. Slow; ends within the limits that the compiler was opened with.
   *
   * @param source borrowed for the call
   * @return bytes that {@link Device#load} of the device takes
   * @throws DeviceException when the program does not compile, or the compiler ended over it; the
   *     message says which
   */
  byte[] compile(ProgramSource source);

  /**
   * What its processes cannot reach, by short names for operators; empty when they are not
   * confined.
   */
  default Set<String> confinement() {
    return Set.of();
  }

  /** Ends running compiles: they fail, as do later ones. Closing twice is harmless. */
  @Override
  void close();
}
