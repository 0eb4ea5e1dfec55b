package dev.roundhouse.pjrt;

import dev.roundhouse.bundle.tensor.DType;
import dev.roundhouse.bundle.tensor.TensorType;
import dev.roundhouse.engine.device.Device.HostMemory;
import dev.roundhouse.engine.device.DeviceBuffer;
import dev.roundhouse.engine.device.DeviceException;
import dev.roundhouse.engine.device.Execution;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;

/**
 * Runs a program with made-up arguments, in a process that may end over it. All arguments of a type
 * lie in the same memory, and zeros in memory that is never written, so that a model's weights take
 * next to nothing. For one thread.
 */
final class TrialRuns {
  private static final long ALIGNMENT = 64;

  /** Of what the process may take: larger arguments are zeros only. */
  private static final int MOST_FILLED_PART = 8;

  private final PjrtClient client;
  private final PjrtExecutable program;
  private final long memoryBytes;

  /**
   * @param memoryBytes what the process may take
   */
  TrialRuns(PjrtClient client, PjrtExecutable program, long memoryBytes) {
    this.client = client;
    this.program = program;
    this.memoryBytes = memoryBytes;
  }

  /**
   * Runs it once, and waits for the end.
   *
   * @throws DeviceException when it fails
   */
  void run(TrialValues values) {
    DType[] types = DType.values();
    MemorySegment[] filled = new MemorySegment[types.length];
    try (Arena arena = Arena.ofShared()) {
      DeviceBuffer[] arguments = new DeviceBuffer[program.parameters().size()];
      int made = 0;
      try {
        for (; made < arguments.length; made++) {
          TensorType type = program.parameters().get(made);
          int index = type.dtype().ordinal();
          if (filled[index] == null) {
            filled[index] = memory(arena, type.dtype(), values);
          }
          arguments[made] =
              client.upload(type, filled[index].asSlice(0, type.byteSize()), HostMemory.ALIAS);
        }
        try (Execution run = program.execute(arguments)) {
          run.await();
        }
      } finally {
        for (int i = 0; i < made; i++) {
          arguments[i].close();
        }
      }
    }
  }

  private MemorySegment memory(Arena arena, DType dtype, TrialValues values) {
    long largest = 0;
    for (TensorType type : program.parameters()) {
      largest = type.dtype() == dtype ? Math.max(largest, type.byteSize()) : largest;
    }
    MemorySegment memory = untouched(arena, largest);
    if (values != TrialValues.ZEROS && largest <= memoryBytes / MOST_FILLED_PART) {
      values.fill(dtype, memory);
    }
    return memory;
  }

  /** Zeros that take no memory until something else is written. */
  private static MemorySegment untouched(Arena arena, long bytes) {
    Linker linker = Linker.nativeLinker();
    MethodHandle calloc =
        linker.downcallHandle(
            linker.defaultLookup().findOrThrow("calloc"),
            FunctionDescriptor.of(
                ValueLayout.ADDRESS, ValueLayout.JAVA_LONG, ValueLayout.JAVA_LONG));
    MethodHandle free =
        linker.downcallHandle(
            linker.defaultLookup().findOrThrow("free"),
            FunctionDescriptor.ofVoid(ValueLayout.ADDRESS));
    try {
      MemorySegment block = (MemorySegment) calloc.invokeExact(1L, bytes + ALIGNMENT);
      if (block.address() == 0) {
        throw new DeviceException(
            DeviceException.Code.OUT_OF_MEMORY, "no " + bytes + " bytes for an argument");
      }
      MemorySegment whole =
          block.reinterpret(bytes + ALIGNMENT, arena, freed -> release(free, freed));
      long skipped = -block.address() & (ALIGNMENT - 1);
      return whole.asSlice(skipped, bytes);
    } catch (RuntimeException | Error e) {
      throw e;
    } catch (Throwable e) {
      throw new IllegalStateException("calloc cannot be called", e);
    }
  }

  private static void release(MethodHandle free, MemorySegment block) {
    try {
      free.invokeExact(block);
    } catch (Throwable e) {
      throw new IllegalStateException("free cannot be called", e);
    }
  }
}
