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
   * Digest of all that {@link #compile} depends on besides a program's code: the compiler's build
   * and options, the kind of device and processor, drivers. A program that was serialised where it
   * was the same can be loaded here. Slow the first time, as the compiler's file is read.
   *
   * @return hexadecimal; empty when this device cannot serialise
   */
  default Optional<String> compileTarget() {
    return Optional.empty();
  }

  /**
   * A program of this device as bytes of which {@link #load} makes the same again, in another
   * process too. Slow.
   *
   * @throws DeviceException UNSUPPORTED when this device cannot, INVALID_ARGUMENT when the program
   *     is of another
   */
  default byte[] serialize(DeviceProgram program) {
    throw new DeviceException(
        DeviceException.Code.UNSUPPORTED, description().kind() + " does not serialise programs");
  }

  /**
   * Loads what {@link #serialize} returned: many times faster than to compile. The caller closes
   * the result.
   *
   * @param name for messages and metrics, as of a {@link ProgramSource}
   * @param serialized borrowed for the call
   * @throws DeviceException INVALID_ARGUMENT when a byte differs or it is of another {@link
   *     #compileTarget}, UNSUPPORTED when this device cannot
   */
  default DeviceProgram load(String name, byte[] serialized) {
    throw new DeviceException(
        DeviceException.Code.UNSUPPORTED, description().kind() + " does not load programs");
  }

  /**
   * Makes a device tensor of host data.
   *
   * <p>{@link HostMemory#COPY} borrows {@code data} until the call returns. {@link
   * HostMemory#ALIAS} lets the device read {@code data} in place for as long as the buffer lives,
   * so the caller keeps it alive and unchanged until the buffer is closed; devices that cannot (or
   * data that is not 64-byte aligned) are copied instead, and the same rule holds: the copy may
   * still be under way when this returns.
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
   * @param type of a byte at least
   * @return empty where the device takes tensors only whole, by {@link #upload}: it cannot do
   *     otherwise, or its memory is the host's and there is no link to share
   * @throws DeviceException when {@code type} has no bytes or none that can be counted, or when
   *     device memory is exhausted
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
   * Page-locks host memory, so that copies to and from the device are direct: otherwise a device
   * with separate memory copies twice. Slow, about a second per gigabyte: once at allocation, never
   * per run.
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
