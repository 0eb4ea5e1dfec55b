package dev.roundhouse.engine.device;

import java.lang.foreign.MemorySegment;
import java.util.List;

/**
 * What a program computes on a simulated device, when a run ends. Stateless; called from any
 * thread.
 */
@FunctionalInterface
public interface ReferenceFunction {

  /**
   * Computes results from arguments, all dense and row-major, of the program's types.
   *
   * @param results zeroed; to be filled
   * @throws DeviceException to make the execution fail
   */
  void apply(DeviceProgram program, List<MemorySegment> arguments, List<MemorySegment> results);

  /** Leaves the results zero. */
  ReferenceFunction ZERO = (program, arguments, results) -> {};
}
