package dev.roundhouse.node.devices;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.invoke.MethodHandle;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * NVIDIA's management library, which comes with the driver: which GPUs there are and how full they
 * are, without starting a process and without a CUDA context. Thread-safe, as the library is.
 */
public final class Nvml implements DeviceSource, MemoryReader, AutoCloseable {
  private static final Logger log = LoggerFactory.getLogger(Nvml.class);
  private static final int UUID_BYTES = 96;

  private final Arena library;
  private final MethodHandle count;
  private final MethodHandle byIndex;
  private final MethodHandle byUuid;
  private final MethodHandle uuid;
  private final MethodHandle memory;
  private final MethodHandle shutdown;
  private boolean closed;

  private Nvml(Arena library, SymbolLookup symbols) {
    this.library = library;
    count = handle(symbols, "nvmlDeviceGetCount_v2", FunctionDescriptor.of(JAVA_INT, ADDRESS));
    byIndex =
        handle(
            symbols,
            "nvmlDeviceGetHandleByIndex_v2",
            FunctionDescriptor.of(JAVA_INT, JAVA_INT, ADDRESS));
    byUuid =
        handle(
            symbols,
            "nvmlDeviceGetHandleByUUID",
            FunctionDescriptor.of(JAVA_INT, ADDRESS, ADDRESS));
    uuid =
        handle(
            symbols,
            "nvmlDeviceGetUUID",
            FunctionDescriptor.of(JAVA_INT, ADDRESS, ADDRESS, JAVA_INT));
    memory =
        handle(
            symbols, "nvmlDeviceGetMemoryInfo", FunctionDescriptor.of(JAVA_INT, ADDRESS, ADDRESS));
    shutdown = handle(symbols, "nvmlShutdown", FunctionDescriptor.of(JAVA_INT));
  }

  /**
   * Loads the library.
   *
   * @param name as the system's loader takes it
   * @return empty when it is not there or does not start, as on a machine without the driver
   */
  public static Optional<Nvml> open(String name) {
    Arena arena = Arena.ofShared();
    try {
      SymbolLookup symbols = SymbolLookup.libraryLookup(name, arena);
      Nvml nvml = new Nvml(arena, symbols);
      MethodHandle init = handle(symbols, "nvmlInit_v2", FunctionDescriptor.of(JAVA_INT));
      int code = (int) init.invokeExact();
      if (code == 0) {
        return Optional.of(nvml);
      }
      log.warn("NVML ({}) does not start: its code is {}", name, code);
    } catch (IllegalArgumentException notThere) {
      log.debug("no NVML: {}", notThere.getMessage());
    } catch (Throwable e) {
      throw new IllegalStateException("NVML (" + name + ") cannot be called", e);
    }
    arena.close();
    return Optional.empty();
  }

  private static MethodHandle handle(
      SymbolLookup symbols, String name, FunctionDescriptor descriptor) {
    MemorySegment address =
        symbols
            .find(name)
            .orElseThrow(() -> new IllegalArgumentException("the library has no " + name));
    return Linker.nativeLinker().downcallHandle(address, descriptor);
  }

  @Override
  public String name() {
    return "NVML";
  }

  /** UUIDs: CUDA counts devices in another order unless it is told not to. */
  @Override
  public synchronized List<String> ids() {
    List<String> ids = new ArrayList<>();
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment number = arena.allocate(JAVA_INT);
      if (closed || (int) count.invokeExact(number) != 0) {
        return List.of();
      }
      for (int i = 0; i < number.get(JAVA_INT, 0); i++) {
        MemorySegment device = arena.allocate(ADDRESS);
        MemorySegment text = arena.allocate(UUID_BYTES);
        if ((int) byIndex.invokeExact(i, device) == 0
            && (int) uuid.invokeExact(device.get(ADDRESS, 0), text, UUID_BYTES) == 0) {
          ids.add(text.getString(0));
        } else {
          log.warn("NVML counts GPU {} and cannot open it; it is left out", i);
        }
      }
      return ids;
    } catch (Throwable e) {
      throw new IllegalStateException("NVML cannot be called", e);
    }
  }

  @Override
  public synchronized Map<String, DeviceMemory> read(Collection<String> ids) {
    Map<String, DeviceMemory> found = new HashMap<>();
    if (closed) {
      return found;
    }
    try (Arena arena = Arena.ofConfined()) {
      // nvmlMemory_t: total, free, used
      MemorySegment info = arena.allocate(MemoryLayout.sequenceLayout(3, JAVA_LONG));
      for (String id : ids) {
        MemorySegment device = arena.allocate(ADDRESS);
        int code =
            id.matches("[0-9]{1,4}")
                ? (int) byIndex.invokeExact(Integer.parseInt(id), device)
                : (int) byUuid.invokeExact(arena.allocateFrom(id), device);
        if (code == 0 && (int) memory.invokeExact(device.get(ADDRESS, 0), info) == 0) {
          found.put(
              id, new DeviceMemory(info.getAtIndex(JAVA_LONG, 2), info.getAtIndex(JAVA_LONG, 0)));
        }
      }
      return found;
    } catch (Throwable e) {
      throw new IllegalStateException("NVML cannot be called", e);
    }
  }

  /** Lets the driver know; reads find nothing from now on. */
  @Override
  public synchronized void close() {
    if (closed) {
      return;
    }
    closed = true;
    try {
      int unused = (int) shutdown.invokeExact();
    } catch (Throwable e) {
      throw new IllegalStateException("NVML cannot be called", e);
    } finally {
      library.close();
    }
  }
}
