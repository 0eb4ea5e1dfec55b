package dev.roundhouse.engine.device;

import dev.roundhouse.bundle.tensor.TensorType;
import java.lang.foreign.MemorySegment;
import java.util.Optional;

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
   * Begins to make a device tensor of host data that is handed over in parts; the whole of its
   * memory is taken at once.
   *
   * @return empty where the device takes tensors only whole, by {@link #upload}
   * @throws DeviceException when device memory is exhausted
   */
  default Optional<PartedUpload> uploadInParts(TensorType type) {
    return Optional.empty();
  }

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

  /**
   * Page-locks host memory, so that copies between it and the device go straight: without, a device
   * with memory of its own copies twice. Slow, about a second for a gigabyte: once when memory is
   * allocated, never for a run.
   *
   * @param memory native, in whole pages of {@link PinnedMemory#PAGE_BYTES}, of a shared arena;
   *     nothing of it pinned already
   * @return what the caller closes before it frees the memory; empty where the device does not pin,
   *     or the system does not let it: the memory is used as it is
   * @throws DeviceException when {@code memory} is not such memory
   */
  default Optional<PinnedMemory> pin(MemorySegment memory) {
    return Optional.empty();
  }

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
