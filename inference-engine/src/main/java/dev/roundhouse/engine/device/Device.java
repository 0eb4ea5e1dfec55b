package dev.roundhouse.engine.device;

import dev.roundhouse.bundle.tensor.TensorType;
import java.lang.foreign.MemorySegment;

/**
 * One accelerator. Compile, upload and read may run on several threads at once; {@link #execute} is
 * called by one thread only. Every misuse that the runtime below would not survive is refused here
 * with a {@link DeviceException}.
 */
public interface Device extends AutoCloseable {

  DeviceDescription description();

  /**
   * Compiles a program. Slow: seconds, on a thread with a large stack. The caller closes the
   * result.
   *
   * @param source borrowed for the call
   * @throws DeviceException when the program is refused or does not compile
   */
  DeviceProgram compile(ProgramSource source);

  /**
   * Makes a device tensor of host data.
   *
   * <p>{@link HostMemory#COPY} borrows {@code data} until the call returns. {@link
   * HostMemory#ALIAS} lets the device read {@code data} in place for as long as the buffer lives,
   * so the caller keeps it alive and unchanged until the buffer is closed; devices that cannot (or
   * data that is not 64-byte aligned) are copied instead, and the same rule holds.
   *
   * @param data exactly {@code type.byteSize()} bytes, dense, row-major; not of a confined arena
   *     when aliased, as the device's threads read it
   * @throws DeviceException on a size mismatch, when {@code data} cannot be read, or when device
   *     memory is exhausted
   */
  DeviceBuffer upload(TensorType type, MemorySegment data, HostMemory use);

  /**
   * Starts one execution. Arguments are borrowed until the execution is done and are never donated:
   * they stay valid. The caller closes the returned execution, which frees the outputs. Until the
   * end has been noticed (see {@link Execution}) the program and the arguments cannot be closed,
   * and aliased memory must not change.
   *
   * @throws DeviceException when arity, dtype, shape or liveness of an argument is wrong, or when
   *     the device refuses
   */
  Execution execute(DeviceProgram program, DeviceBuffer[] arguments);

  /** What the device says of its memory; fields it does not know are absent. */
  DeviceMemory memory();

  /** Frees the device. Programs and buffers must be closed first; open ones are refused by name. */
  @Override
  void close();

  /** How {@link #upload} may use the caller's memory. */
  enum HostMemory {
    COPY,
    ALIAS
  }
}
