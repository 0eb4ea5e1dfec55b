package dev.roundhouse.pjrt;

import dev.roundhouse.bundle.tensor.TensorType;
import dev.roundhouse.engine.device.DeviceBuffer;
import dev.roundhouse.engine.device.DeviceException;
import dev.roundhouse.engine.device.DeviceException.Code;
import dev.roundhouse.engine.device.DeviceProgram;
import dev.roundhouse.engine.device.Execution;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * A program loaded on a PJRT device, by itself or with others that are equal. Several threads may
 * execute one; arguments are checked here, as the plugin compares nothing but byte sizes, and are
 * never donated.
 */
public final class PjrtExecutable extends NativeHandle implements DeviceProgram {
  private final PjrtClient client;
  private final String name;
  private final LoadedExecutable loaded;

  /** The handles of one call, used again unless another thread has them. */
  private final AtomicReference<@Nullable CallArrays> spare = new AtomicReference<>();

  private PjrtExecutable(PjrtClient client, String name, LoadedExecutable loaded) {
    super(client.openHandleList());
    this.client = client;
    this.name = name;
    this.loaded = loaded;
  }

  /** Takes the loaded executable at {@code address}; destroys it when it must not run. */
  static PjrtExecutable of(PjrtClient client, long address, String name) {
    return of(client, address, name, PjrtExecutable::signature);
  }

  static PjrtExecutable of(
      PjrtClient client, long address, String name, SignatureReader signatures) {
    long api = client.api();
    try {
      return of(
          client,
          new LoadedExecutable(address, signatures.read(api, address), memory(api, address)),
          name);
    } catch (RuntimeException | Error e) {
      destroy(api, address);
      throw named(name, e);
    }
  }

  /** A program of what has been loaded already, and has been counted for it. */
  static PjrtExecutable joined(PjrtClient client, LoadedExecutable loaded, String name) {
    try {
      return of(client, loaded, name);
    } catch (RuntimeException | Error e) {
      leave(client, loaded);
      throw e;
    }
  }

  private static PjrtExecutable of(PjrtClient client, LoadedExecutable loaded, String name) {
    PjrtExecutable program = new PjrtExecutable(client, name, loaded);
    program.own(loaded.address);
    return program;
  }

  private static ProgramSignature signature(long api, long address) {
    byte[][] program = optimizedProgram(api, address);
    HloModule module = HloModule.read(PjrtPlugin.text(program[0]), program[1]);
    return ProgramSignature.of(module, outputTypes(api, address), outputDimensions(api, address));
  }

  /** A refusal with the program's name in front; whatever else it was is thrown as it is. */
  private static DeviceException named(String name, Throwable failure) {
    switch (failure) {
      case DeviceException refusal -> {
        return new DeviceException(refusal.code(), name + ": " + refusal.getMessage(), refusal);
      }
      case Error error -> throw error;
      default -> throw (RuntimeException) failure;
    }
  }

  @Override
  public String name() {
    return name;
  }

  @Override
  public List<TensorType> parameters() {
    return loaded.signature.parameters();
  }

  @Override
  public List<TensorType> results() {
    return loaded.results;
  }

  @Override
  public ProgramMemory memory() {
    return loaded.memory;
  }

  /**
   * Starts a run; see {@link dev.roundhouse.engine.device.Device#execute}.
   *
   * @param arguments borrowed until the run ends
   */
  Execution execute(DeviceBuffer[] arguments) {
    if (arguments == null) {
      throw new DeviceException(Code.INVALID_ARGUMENT, name + ": the arguments are null");
    }
    long executable = hold();
    int held = 0;
    PjrtBuffer[] buffers = new PjrtBuffer[0];
    try {
      checkArity(arguments.length);
      buffers = new PjrtBuffer[arguments.length];
      CallArrays arrays = takeArrays();
      PjrtExecution run = new PjrtExecution(client, this, buffers);
      for (; held < buffers.length; held++) {
        buffers[held] = checked(held, arguments[held]);
        arrays.arguments[held] = buffers[held].holdAsArgument();
      }
      run.started(
          execute(client.api(), executable, arrays.arguments, arrays.outputs), arrays.outputs);
      spare.set(arrays);
      return run;
    } catch (RuntimeException | Error e) {
      for (int i = 0; i < held; i++) {
        buffers[i].release();
      }
      release();
      throw named(name, e);
    }
  }

  /**
   * This program for {@link PjrtDevice#load}, in an envelope that binds it to this plugin build and
   * machine. Thread-safe; slow.
   */
  public byte[] serialize() {
    return client.envelope().wrap(payload());
  }

  /** As {@link #serialize}, without the envelope. */
  byte[] payload() {
    long executable = hold();
    try {
      return serialize(client.api(), executable);
    } finally {
      release();
    }
  }

  /** What it runs, which other programs may run too. */
  LoadedExecutable loaded() {
    return loaded;
  }

  boolean isOf(PjrtClient other) {
    return client == other;
  }

  ProgramSignature.Result result(int index) {
    return loaded.signature.results().get(index);
  }

  @Override
  String describe() {
    return "program " + name;
  }

  @Override
  void free(long address) {
    leave(client, loaded);
  }

  /** Destroys what was loaded with the last program of it. */
  private static void leave(PjrtClient client, LoadedExecutable loaded) {
    if (client.executables().leave(loaded)) {
      destroy(client.api(), loaded.address);
    }
  }

  private void checkArity(int count) {
    if (count != parameters().size()) {
      throw new DeviceException(
          Code.INVALID_ARGUMENT,
          "takes %d arguments, got %d".formatted(parameters().size(), count));
    }
  }

  private PjrtBuffer checked(int index, @Nullable DeviceBuffer argument) {
    if (!(argument instanceof PjrtBuffer buffer) || buffer.client() != client) {
      throw new DeviceException(
          Code.INVALID_ARGUMENT,
          "argument " + index + " is " + (argument == null ? "null" : "of another device"));
    }
    TensorType expected = parameters().get(index);
    if (!expected.equals(buffer.type())) {
      throw new DeviceException(
          Code.INVALID_ARGUMENT,
          "argument %d is %s, expected %s".formatted(index, buffer.type(), expected));
    }
    return buffer;
  }

  private CallArrays takeArrays() {
    CallArrays arrays = spare.getAndSet(null);
    return arrays == null ? new CallArrays(parameters().size(), loaded.results.size()) : arrays;
  }

  private static ProgramMemory memory(long api, long address) {
    long[] stats = memoryStats(api, address);
    return new ProgramMemory(stats[0], stats[1], stats[2], stats[3]);
  }

  /** Reads what a loaded executable takes and returns. */
  interface SignatureReader {
    ProgramSignature read(long api, long address);
  }

  private static final class CallArrays {
    final long[] arguments;
    final long[] outputs;

    CallArrays(int argumentCount, int outputCount) {
      arguments = new long[argumentCount];
      outputs = new long[outputCount];
    }
  }

  private static native void destroy(long api, long executable);

  private static native long execute(long api, long executable, long[] arguments, long[] outputs);

  private static native int[] outputTypes(long api, long executable);

  private static native long[] outputDimensions(long api, long executable);

  private static native byte[][] optimizedProgram(long api, long executable);

  private static native long[] memoryStats(long api, long executable);

  private static native byte[] serialize(long api, long executable);
}
