package dev.roundhouse.pjrt;

import dev.roundhouse.bundle.artifact.ArtifactReader;
import dev.roundhouse.bundle.error.BundleException;
import dev.roundhouse.bundle.tensor.TensorType;
import dev.roundhouse.engine.device.Device;
import dev.roundhouse.engine.device.DeviceBuffer;
import dev.roundhouse.engine.device.DeviceDescription;
import dev.roundhouse.engine.device.DeviceException;
import dev.roundhouse.engine.device.DeviceException.Code;
import dev.roundhouse.engine.device.DeviceMemory;
import dev.roundhouse.engine.device.DeviceProgram;
import dev.roundhouse.engine.device.Execution;
import dev.roundhouse.engine.device.PartedUpload;
import dev.roundhouse.engine.device.PinnedMemory;
import dev.roundhouse.engine.device.ProgramCompiler;
import dev.roundhouse.engine.device.ProgramSource;
import java.lang.foreign.MemorySegment;
import java.lang.management.ManagementFactory;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;

/** The engine's view of one device of a PJRT plugin. Thread-safe. */
public final class PjrtDevice implements Device {
  private final PjrtClient client;
  private final PjrtDeviceOptions options;
  private final CompileOptions compileOptions;
  private final OptionalLong runBytesLimit;
  private final DeviceDescription description;

  private PjrtDevice(PjrtClient client, PjrtDeviceOptions options) {
    this.client = client;
    this.options = options;
    this.compileOptions = options.compile();
    this.runBytesLimit =
        options.runBytesLimit().isPresent() ? options.runBytesLimit() : defaultLimit(client);
    this.description = describe(client, options.client().visibleDevice(options.ordinal()));
  }

  /**
   * Loads the plugin, if need be, and opens a device of it; the caller closes it. Of the GPUs of a
   * machine no other is opened, unless {@code visible_devices} of the client's options says so.
   *
   * @throws DeviceException when there is no plugin, it is of another platform than the options
   *     name, or there is no such device
   */
  public static PjrtDevice open(PjrtDeviceOptions options) {
    return open(options, true);
  }

  /**
   * As {@link #open(PjrtDeviceOptions)}.
   *
   * @param readsInPlace false uses the host's memory, on a CPU, as if it were a device's own: reads
   *     are copies by the plugin, and tensors come in parts. For tests and measurements
   */
  public static PjrtDevice open(PjrtDeviceOptions wanted, boolean readsInPlace) {
    PjrtDeviceOptions options = wanted.forOneDevice();
    PjrtPlugin plugin = PjrtPlugin.load(options.plugin());
    PjrtClient client =
        PjrtClient.create(plugin, options.client(), options.ordinal(), readsInPlace);
    try {
      checkPlatform(client, options.plugin().platform());
      return new PjrtDevice(client, options);
    } catch (RuntimeException | Error e) {
      client.close();
      throw e;
    }
  }

  private static void checkPlatform(PjrtClient client, String wanted) {
    if (!client.platform().equals(wanted)) {
      throw new DeviceException(
          Code.INVALID_ARGUMENT,
          "the plugin %s is of platform '%s', not '%s'; name a plugin of '%s', or ask for platform '%s'"
              .formatted(
                  client.plugin().path(), client.platform(), wanted, wanted, client.platform()));
    }
  }

  @Override
  public DeviceDescription description() {
    return description;
  }

  /** Which plugin it is of. */
  public PjrtPlugin plugin() {
    return client.plugin();
  }

  /**
   * Compiles on a thread with a large stack. Text modules are read first, as XLA crashes or hangs
   * on some. Bytecode is trusted beyond its header: check its digest before.
   */
  @Override
  public PjrtExecutable compile(ProgramSource source) {
    if (source.code() == null) {
      throw new DeviceException(Code.INVALID_ARGUMENT, source.name() + " has no code");
    }
    try {
      ArtifactReader.read(source.code(), source.name());
    } catch (BundleException refusal) {
      throw new DeviceException(
          Code.INVALID_ARGUMENT, String.valueOf(refusal.getMessage()), refusal);
    }
    return withinLimit(client.compile(source.name(), source.code(), compileOptions));
  }

  @Override
  public Optional<String> compileTarget() {
    return Optional.of(client.compileTarget(compileOptions));
  }

  @Override
  public byte[] serialize(DeviceProgram program) {
    return own(program).serialize();
  }

  /**
   * Loads what {@link #serialize} returned; the caller closes the result.
   *
   * @throws DeviceException INVALID_ARGUMENT when a byte differs or it is of another plugin build,
   *     device kind or CPU
   */
  @Override
  public PjrtExecutable load(String name, byte[] serialized) {
    return withinLimit(client.load(name, serialized, compileOptions));
  }

  /**
   * Opens a compiler for this device, in processes of its own that have the same plugin, flags and
   * options. The caller closes it, before the device.
   *
   * @throws DeviceException UNSUPPORTED when they must be confined and this system cannot do it
   */
  public ProgramCompiler openCompiler(CompilerLimits limits) {
    CompilerSettings settings =
        CompilerSettings.of(client, options).withRunBytesLimit(runBytesLimit);
    return new CompilerProcesses(client, settings, limits);
  }

  @Override
  public DeviceBuffer upload(TensorType type, MemorySegment data, HostMemory use) {
    return client.upload(type, data, use);
  }

  /** Empty where outputs are read in place: weights are used there too, and nothing crosses. */
  @Override
  public Optional<PartedUpload> uploadInParts(TensorType type) {
    return client.uploadInParts(type);
  }

  @Override
  public Execution execute(DeviceProgram program, DeviceBuffer[] arguments) {
    return own(program).execute(arguments);
  }

  /** As the process of a compiler does it, in this one. */
  void tryOut(PjrtExecutable program, TrialValues values, long memoryBytes) {
    new TrialRuns(client, program, memoryBytes).run(values);
  }

  private PjrtExecutable own(DeviceProgram program) {
    if (!(program instanceof PjrtExecutable executable) || !executable.isOf(client)) {
      throw new DeviceException(
          Code.INVALID_ARGUMENT,
          (program == null ? "the program is null" : program.name() + " is of another device")
              + "; compile it here");
    }
    return executable;
  }

  @Override
  public Optional<PinnedMemory> pin(MemorySegment memory) {
    return client.pin(memory);
  }

  @Override
  public DeviceMemory memory() {
    return client.memory();
  }

  /** Number of buffers, programs, runs and pinned memories that are open. */
  public int openHandles() {
    return client.openHandles();
  }

  /** Number of executables that are loaded, from which programs come that are equal. */
  int loadedExecutables() {
    return client.executables().count();
  }

  @Override
  public void close() {
    client.close();
  }

  private PjrtExecutable withinLimit(PjrtExecutable program) {
    try {
      RunMemory.check(program, runBytesLimit.orElse(Long.MAX_VALUE));
      return program;
    } catch (DeviceException tooLarge) {
      program.close();
      throw tooLarge;
    }
  }

  private static OptionalLong defaultLimit(PjrtClient client) {
    if (!isHost(client)) {
      return client.memory().limit();
    }
    var system = ManagementFactory.getOperatingSystemMXBean();
    return system instanceof com.sun.management.OperatingSystemMXBean host
        ? OptionalLong.of(hostLimit(host.getTotalMemorySize(), Runtime.getRuntime().maxMemory()))
        : OptionalLong.empty();
  }

  /**
   * What is left of the machine's or container's memory beside the heap and the JVM itself, at most
   * three quarters of it.
   */
  static long hostLimit(long total, long heap) {
    long left = total - heap - total / 16 - (256L << 20);
    return Math.clamp(left, total / 16, total / 4 * 3);
  }

  private static boolean isHost(PjrtClient client) {
    return client.platform().equals(PluginOptions.CPU);
  }

  private static DeviceDescription describe(PjrtClient client, int ordinal) {
    Map<String, String> attributes = new LinkedHashMap<>(client.plugin().attributes());
    attributes.putAll(client.deviceAttributes());
    attributes.put("plugin", client.plugin().path().toString());
    attributes.put("pjrt_api_version", client.plugin().apiVersion());
    return new DeviceDescription(
        client.platform(),
        client.deviceKind(),
        ordinal,
        isHost(client),
        isHost(client),
        attributes);
  }
}
