package dev.roundhouse.node.devices;

import com.sun.jna.Library;
import com.sun.jna.Native;
import com.sun.jna.NativeLibrary;
import com.sun.jna.Pointer;
import com.sun.jna.ptr.IntByReference;
import com.sun.jna.ptr.PointerByReference;
import java.lang.reflect.Method;
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

  private final NativeLibrary library;
  private final Calls calls;
  private boolean closed;

  private interface Calls extends Library {
    int nvmlInit_v2();

    int nvmlShutdown();

    int nvmlDeviceGetCount_v2(IntByReference count);

    int nvmlDeviceGetHandleByIndex_v2(int index, PointerByReference device);

    int nvmlDeviceGetHandleByUUID(String uuid, PointerByReference device);

    int nvmlDeviceGetUUID(Pointer device, byte[] uuid, int length);

    /**
     * @param memory {@code nvmlMemory_t}: total, free, used
     */
    int nvmlDeviceGetMemoryInfo(Pointer device, long[] memory);
  }

  private Nvml(NativeLibrary library, Calls calls) {
    this.library = library;
    this.calls = calls;
  }

  /**
   * Loads the library.
   *
   * @param name as the system's loader takes it
   * @return empty when it is not there or does not start, as on a machine without the driver
   */
  public static Optional<Nvml> open(String name) {
    if (!jnaLoads()) {
      return Optional.empty();
    }
    try {
      NativeLibrary library = NativeLibrary.getInstance(name);
      for (Method call : Calls.class.getMethods()) {
        library.getFunction(call.getName());
      }
      Calls calls = Native.load(name, Calls.class);
      int code = calls.nvmlInit_v2();
      if (code == 0) {
        return Optional.of(new Nvml(library, calls));
      }
      log.warn("NVML ({}) does not start: its code is {}", name, code);
      library.close();
    } catch (UnsatisfiedLinkError notThere) {
      log.debug("no NVML: {}", notThere.getMessage());
    }
    return Optional.empty();
  }

  private static boolean jnaLoads() {
    try {
      return Native.POINTER_SIZE > 0;
    } catch (LinkageError e) {
      log.warn(
          "NVML is not asked, for JNA's library libjnidispatch.so does not load: {}. It is unpacked to a temporary folder: choose one that can be written and allows execution with -Djna.tmpdir, or name the folder of an unpacked one with -Djna.boot.library.path",
          e.getMessage());
      return false;
    }
  }

  @Override
  public String name() {
    return "NVML";
  }

  /** UUIDs: CUDA numbers devices in another order by default. */
  @Override
  public synchronized List<String> ids() {
    List<String> ids = new ArrayList<>();
    IntByReference count = new IntByReference();
    if (closed || calls.nvmlDeviceGetCount_v2(count) != 0) {
      return ids;
    }
    for (int i = 0; i < count.getValue(); i++) {
      PointerByReference device = new PointerByReference();
      byte[] uuid = new byte[UUID_BYTES];
      if (calls.nvmlDeviceGetHandleByIndex_v2(i, device) == 0
          && calls.nvmlDeviceGetUUID(device.getValue(), uuid, UUID_BYTES) == 0) {
        ids.add(Native.toString(uuid, "US-ASCII"));
      } else {
        log.warn("NVML counts GPU {} and cannot open it; it is left out", i);
      }
    }
    return ids;
  }

  @Override
  public synchronized Map<String, DeviceMemory> read(Collection<String> ids) {
    Map<String, DeviceMemory> found = new HashMap<>();
    if (closed) {
      return found;
    }
    long[] memory = new long[3];
    for (String id : ids) {
      PointerByReference device = new PointerByReference();
      int code =
          id.matches("[0-9]{1,4}")
              ? calls.nvmlDeviceGetHandleByIndex_v2(Integer.parseInt(id), device)
              : calls.nvmlDeviceGetHandleByUUID(id, device);
      if (code == 0 && calls.nvmlDeviceGetMemoryInfo(device.getValue(), memory) == 0) {
        found.put(id, new DeviceMemory(memory[2], memory[0]));
      }
    }
    return found;
  }

  /** Shuts the library down; later reads find nothing. */
  @Override
  public synchronized void close() {
    if (!closed) {
      closed = true;
      calls.nvmlShutdown();
      library.close();
    }
  }
}
