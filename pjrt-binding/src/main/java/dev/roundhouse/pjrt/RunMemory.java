package dev.roundhouse.pjrt;

import dev.roundhouse.engine.device.DeviceException;
import dev.roundhouse.engine.device.DeviceException.Code;
import dev.roundhouse.engine.device.DeviceProgram;

/**
 * Checks the memory that one run needs against its limit. XLA:CPU overcommits: a run that needs
 * more memory than there is thrashes instead of failing.
 */
final class RunMemory {
  private RunMemory() {}

  /**
   * @throws DeviceException OUT_OF_MEMORY when a run needs more outputs and scratch together
   */
  static void check(PjrtExecutable program, long limitBytes) {
    DeviceProgram.ProgramMemory memory = program.memory();
    if (Math.max(0, memory.outputBytes()) <= limitBytes - Math.max(0, memory.tempBytes())) {
      return;
    }
    throw new DeviceException(
        Code.OUT_OF_MEMORY,
        "%s needs %d bytes of outputs and %d bytes of scratch per run, more than the limit of %d bytes; use a smaller batch size or raise the limit"
            .formatted(program.name(), memory.outputBytes(), memory.tempBytes(), limitBytes));
  }
}
