package dev.roundhouse.pjrt;

import dev.roundhouse.bundle.tensor.TensorType;
import dev.roundhouse.engine.device.Device.HostMemory;
import dev.roundhouse.engine.device.DeviceException;
import dev.roundhouse.engine.device.DeviceException.Code;
import dev.roundhouse.engine.device.DeviceMemory;
import dev.roundhouse.engine.device.PartedUpload;
import dev.roundhouse.engine.device.PinnedMemory;
import dev.roundhouse.engine.device.PinnedRanges;
import java.lang.foreign.MemorySegment;
import java.lang.ref.Reference;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A plugin's client, used for one of its devices. Owns the count of every handle made through it;
 * closes only when all of them are closed. Thread-safe.
 */
final class PjrtClient extends NativeHandle {
  /** Zero-copy needs this; XLA:CPU would copy unaligned memory behind our back. */
  private static final int ALIAS_ALIGNMENT = 64;

  /** What is compiled for one device of a kind can be loaded on another. */
  private static final int ANY_DEVICE = 0;

  // PJRT_HostBufferSemantics.
  private static final int DURING_CALL = 0;
  private static final int UNTIL_TRANSFERRED = 1;
  private static final int ZERO_COPY = 2;

  private static final long[] NO_TRANSFER = {};

  private static final Logger log = LoggerFactory.getLogger(PjrtClient.class);
  private static final int NAMED_IN_MESSAGE = 8;

  private final OpenHandles handles = new OpenHandles();
  private final PjrtPlugin plugin;
  private final String platform;
  private final long device;
  private final int deviceId;
  private final String deviceKind;
  private final Map<String, String> deviceAttributes;
  private final boolean readsInPlace;
  private final LoadedExecutables executables = new LoadedExecutables();
  private final PinnedRanges pinned = new PinnedRanges();
  private volatile boolean countsMemory = true;
  private volatile boolean pins = true;
  private volatile boolean takesParts;
  private @Nullable ExecutableEnvelope envelope;

  private PjrtClient(PjrtPlugin plugin, long address, int ordinal, boolean readsInPlace) {
    super(null);
    this.plugin = plugin;
    this.platform = platform(plugin, address);
    long[] devices = addressableDevices(plugin.api(), address);
    if (ordinal < 0 || ordinal >= devices.length) {
      throw new DeviceException(
          Code.INVALID_ARGUMENT,
          "device ordinal %d: %s has devices 0 to %d"
              .formatted(ordinal, platform, devices.length - 1));
    }
    this.device = devices[ordinal];
    this.deviceId = deviceId(plugin.api(), device);
    this.deviceKind = PjrtPlugin.text(deviceKind(plugin.api(), device));
    this.deviceAttributes = PjrtPlugin.pairs(deviceAttributes(plugin.api(), device));
    this.readsInPlace = readsInPlace && platform.equals(PluginOptions.CPU);
    this.takesParts = !this.readsInPlace;
    own(address);
  }

  /**
   * Creates a client and picks a device of it. A CPU client always has exactly one device, so that
   * it does not split the host in four.
   *
   * @param ordinal which of the client's devices, from 0
   */
  static PjrtClient create(PjrtPlugin plugin, ClientOptions options, int ordinal) {
    return create(plugin, options, ordinal, true);
  }

  /**
   * @param readsInPlace false reads through the plugin even where memory is the host's
   */
  static PjrtClient create(
      PjrtPlugin plugin, ClientOptions options, int ordinal, boolean readsInPlace) {
    long address = create(plugin.api(), options);
    // Which platform a plugin serves is known only now, and others refuse the CPU's option.
    if (!options.has(ClientOptions.CPU_DEVICE_COUNT) && isCpu(plugin, address)) {
      destroy(plugin.api(), address);
      address = create(plugin.api(), options.with(ClientOptions.CPU_DEVICE_COUNT, 1));
    }
    try {
      return new PjrtClient(plugin, address, ordinal, readsInPlace);
    } catch (RuntimeException | Error e) {
      destroy(plugin.api(), address);
      throw e;
    }
  }

  private static boolean isCpu(PjrtPlugin plugin, long address) {
    try {
      return platform(plugin, address).equals(PluginOptions.CPU);
    } catch (RuntimeException | Error e) {
      destroy(plugin.api(), address);
      throw e;
    }
  }

  PjrtPlugin plugin() {
    return plugin;
  }

  /** {@code cpu}, {@code cuda}, as the plugin says. */
  String platform() {
    return platform;
  }

  String deviceKind() {
    return deviceKind;
  }

  /** Device attributes reported by the plugin: a GPU's {@code compute_capability} and others. */
  Map<String, String> deviceAttributes() {
    return deviceAttributes;
  }

  /** Number of buffers, programs and runs that are open. */
  int openHandles() {
    return handles.count();
  }

  /**
   * Compiles on a large stack; the caller closes the result.
   *
   * @param name for messages
   * @param code StableHLO, borrowed; trusted: flipped bits in bytecode end the process
   * @throws DeviceException when XLA refuses it, or it holds an op that waits forever
   */
  PjrtExecutable compile(String name, byte[] code, CompileOptions options) {
    return compile(name, code, encoded(options));
  }

  /** As {@link #compile(String, byte[], CompileOptions)}, of options that {@link #encoded} made. */
  PjrtExecutable compile(String name, byte[] code, byte[] options) {
    if (code == null || code.length == 0) {
      throw new DeviceException(Code.INVALID_ARGUMENT, name + " has no code; expected StableHLO");
    }
    return loaded(name, client -> compile(api(), client, code, options));
  }

  /** Options for this client's device. */
  byte[] encoded(CompileOptions options) {
    return options.encode(deviceId);
  }

  /**
   * Loads what {@link PjrtExecutable#serialize} returned, which takes no time when an equal one is
   * loaded; the caller closes the result.
   *
   * @param options that it was compiled with; they bind it to this client's device
   * @throws DeviceException INVALID_ARGUMENT when a byte differs or it is of another plugin build,
   *     device kind or CPU
   */
  PjrtExecutable load(String name, byte[] serialized, CompileOptions options) {
    ExecutableEnvelope.Payload payload = envelope().unwrap(name, serialized);
    byte[] encoded = encoded(options);
    LoadedExecutables.Key key =
        new LoadedExecutables.Key(
            payload.sha256(), HexFormat.of().formatHex(Sha256.of(encoded, 0, encoded.length)));
    hold(); // the program that is joined may be closed meanwhile, and the client after it
    try {
      LoadedExecutable equal = executables.join(key);
      if (equal != null) {
        return PjrtExecutable.joined(this, equal, name);
      }
      PjrtExecutable program =
          loaded(name, client -> deserialize(api(), client, payload.bytes(), encoded));
      executables.add(key, program.loaded());
      return program;
    } finally {
      release();
    }
  }

  /** See {@link dev.roundhouse.engine.device.Device#upload}. */
  PjrtBuffer upload(TensorType type, MemorySegment data, HostMemory use) {
    UploadCheck.Checked checked = UploadCheck.check(type, data, use);
    long client = hold();
    try {
      int semantics = semantics(data, checked.byteSize(), use);
      // What the caller promised holds where the data is copied too, so that no device is kinder.
      MemorySegment lent = use == HostMemory.ALIAS ? data : null;
      PjrtBuffer buffer = PjrtBuffer.upload(this, type, checked.byteSize(), lent);
      long[] transfer = semantics == UNTIL_TRANSFERRED ? new long[1] : NO_TRANSFER;
      long address =
          bufferFromHost(
              api(),
              client,
              device,
              checked.source().address(),
              checked.bufferType(),
              type.shape().dims(),
              semantics,
              transfer);
      buffer.ownUpload(address, transfer.length == 0 ? PjrtBuffer.NO_EVENT : transfer[0]);
      return buffer;
    } finally {
      Reference.reachabilityFence(checked.source());
      release();
    }
  }

  /** See {@link dev.roundhouse.engine.device.Device#uploadInParts}. */
  Optional<PartedUpload> uploadInParts(TensorType type) {
    int bufferType = UploadCheck.bufferType(type);
    long byteSize = UploadCheck.byteSize(type);
    if (byteSize == 0) {
      throw new DeviceException(Code.INVALID_ARGUMENT, type + " has no bytes, so no parts");
    }
    long client = hold();
    try {
      if (takesParts) {
        PjrtParts parts = new PjrtParts(this, type);
        PjrtBuffer buffer = PjrtBuffer.parted(this, type, byteSize, parts);
        buffer.own(parts.begin(client, device, bufferType));
        return Optional.of(new PjrtPartedUpload(buffer, parts, byteSize));
      }
    } catch (DeviceException e) {
      if (e.code() != Code.UNSUPPORTED) {
        throw e;
      }
      takesParts = false;
    } finally {
      release();
    }
    return Optional.empty();
  }

  /** What the plugin may do with host memory; never the mutable kind, which programs write to. */
  private int semantics(MemorySegment data, long byteSize, HostMemory use) {
    if (use == HostMemory.COPY || !data.isNative() || byteSize == 0) {
      return DURING_CALL;
    }
    if (!platform.equals(PluginOptions.CPU)) {
      return UNTIL_TRANSFERRED;
    }
    return data.address() % ALIAS_ALIGNMENT == 0 ? ZERO_COPY : DURING_CALL;
  }

  /** What the device counts of its memory; nothing where the plugin does not implement it. */
  DeviceMemory memory() {
    hold();
    try {
      if (countsMemory) {
        long[] stats = memoryStats(api(), device);
        return new DeviceMemory(
            counted(stats[0]), counted(stats[1]), counted(stats[2]), counted(stats[3]));
      }
      return DeviceMemory.UNKNOWN;
    } catch (DeviceException e) {
      if (e.code() != Code.UNSUPPORTED) {
        throw e;
      }
      countsMemory = false;
      return DeviceMemory.UNKNOWN;
    } finally {
      release();
    }
  }

  /** See {@link dev.roundhouse.engine.device.Device#pin}. */
  Optional<PinnedMemory> pin(MemorySegment memory) {
    pinned.add(memory);
    boolean done = false;
    long client = hold();
    try {
      if (pins) {
        PjrtPin pin = new PjrtPin(this, memory);
        dmaMap(api(), client, memory.address(), memory.byteSize());
        pin.own(memory.address());
        done = true;
        return Optional.of(pin);
      }
    } catch (DeviceException e) {
      if (e.code() == Code.DEVICE_LOST) {
        throw e;
      }
      // Memory works as well without, and a limit on locked memory is not the model's fault.
      if (e.code() == Code.UNSUPPORTED) {
        pins = false;
      } else {
        log.warn(
            "{} bytes of host memory are not page-locked, copies are slower: {}; raise the limit on"
                + " locked memory (ulimit -l)",
            memory.byteSize(),
            e.getMessage());
      }
    } finally {
      release();
      if (!done) {
        pinned.remove(memory);
      }
    }
    return Optional.empty();
  }

  void unpin(MemorySegment memory, long address) {
    long client = hold();
    try {
      dmaUnmap(api(), client, address);
    } catch (DeviceException e) {
      if (e.code() != Code.DEVICE_LOST) {
        throw e;
      }
      log.warn("pinned memory was not unmapped, as the device is lost: {}", e.getMessage());
    } finally {
      release();
      pinned.remove(memory);
    }
  }

  long api() {
    return plugin.api();
  }

  OpenHandles openHandleList() {
    return handles;
  }

  LoadedExecutables executables() {
    return executables;
  }

  /** True when device memory is read without the plugin's help. */
  boolean readsInPlace() {
    return readsInPlace;
  }

  /** See {@link dev.roundhouse.engine.device.Device#compileTarget}. */
  String compileTarget(CompileOptions options) {
    ExecutableEnvelope bound = envelope();
    HexFormat hex = HexFormat.of();
    byte[] target =
        String.join(
                "\n",
                hex.formatHex(bound.plugin()),
                hex.formatHex(bound.machine()),
                hex.formatHex(options.encode(ANY_DEVICE)),
                plugin.compileEnvironment())
            .getBytes(StandardCharsets.UTF_8);
    return hex.formatHex(Sha256.of(target, 0, target.length));
  }

  synchronized ExecutableEnvelope envelope() {
    ExecutableEnvelope known = envelope;
    if (known == null) {
      byte[] build = plugin.sha256(); // slow: the client can be closed meanwhile
      long client = hold();
      try {
        String version = PjrtPlugin.text(platformVersion(api(), client));
        known = new ExecutableEnvelope(build, MachineFingerprint.of(platform, version, deviceKind));
      } finally {
        release();
      }
      envelope = known;
    }
    return known;
  }

  @Override
  String describe() {
    return platform + " client";
  }

  @Override
  void checkFreeable() {
    int open = handles.count();
    if (open > 0) {
      throw new DeviceException(
          Code.INVALID_ARGUMENT,
          "%s has %d open handles, close them first: %s%s"
              .formatted(
                  describe(),
                  open,
                  String.join(", ", handles.describe(NAMED_IN_MESSAGE)),
                  open > NAMED_IN_MESSAGE ? ", ..." : ""));
    }
  }

  @Override
  void free(long address) {
    destroy(api(), address);
  }

  private PjrtExecutable loaded(String name, Loader loader) {
    long client = hold();
    try {
      return LargeStack.call(
          "pjrt-compile", () -> PjrtExecutable.of(this, named(name, loader, client), name));
    } finally {
      release();
    }
  }

  private static long named(String name, Loader loader, long client) {
    try {
      return loader.load(client);
    } catch (DeviceException refusal) {
      throw new DeviceException(refusal.code(), name + ": " + refusal.getMessage(), refusal);
    }
  }

  private static OptionalLong counted(long bytes) {
    return bytes < 0 ? OptionalLong.empty() : OptionalLong.of(bytes);
  }

  private static String platform(PjrtPlugin plugin, long address) {
    return PjrtPlugin.text(platformName(plugin.api(), address));
  }

  private static long create(long api, ClientOptions options) {
    try {
      return create(api, options.names(), options.kinds(), options.texts(), options.numbers());
    } catch (DeviceException refusal) {
      throw CudaFailure.atStart(refusal, options);
    }
  }

  /** Makes a loaded executable of a client. */
  private interface Loader {
    long load(long client);
  }

  private static native long create(
      long api, byte[][] names, int[] kinds, byte[][] texts, long[][] numbers);

  private static native void destroy(long api, long client);

  private static native byte[] platformName(long api, long client);

  private static native byte[] platformVersion(long api, long client);

  private static native long[] addressableDevices(long api, long client);

  private static native int deviceId(long api, long device);

  private static native byte[] deviceKind(long api, long device);

  private static native byte[][] deviceAttributes(long api, long device);

  private static native long[] memoryStats(long api, long device);

  private static native void dmaMap(long api, long client, long address, long size);

  private static native void dmaUnmap(long api, long client, long address);

  static native long compile(long api, long client, byte[] code, byte[] options);

  private static native long deserialize(long api, long client, byte[] payload, byte[] options);

  private static native long bufferFromHost(
      long api,
      long client,
      long device,
      long address,
      int type,
      long[] dims,
      int semantics,
      long[] transfer);
}
