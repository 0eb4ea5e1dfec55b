package dev.roundhouse.engine.testing;

import dev.roundhouse.bundle.tensor.TensorType;
import dev.roundhouse.engine.device.Device;
import dev.roundhouse.engine.device.DeviceBuffer;
import dev.roundhouse.engine.device.DeviceDescription;
import dev.roundhouse.engine.device.DeviceProgram;
import dev.roundhouse.engine.device.Execution;
import dev.roundhouse.engine.device.ForwardingBuffer;
import dev.roundhouse.engine.device.ForwardingDevice;
import java.lang.foreign.MemorySegment;
import java.util.Optional;

/** A device that tells a test of calls before it does them; the test may block or throw. */
public final class HookedDevice extends ForwardingDevice {

  /** What is told of. */
  public enum Call {
    UPLOAD,
    EXECUTE,
    IS_DONE,
    ON_DONE,
    AWAIT,
    /** An output, be it copied or read in place. */
    READ,
    /** Told after the run's outputs were freed, so that nothing leaks. */
    CLOSE
  }

  /** Is called on whichever thread makes the call. */
  @FunctionalInterface
  public interface Hook {
    /**
     * @param of the program's name, which begins with its model's; for uploads the tensor's type
     */
    void on(Call call, String of);
  }

  private final boolean hostVisible;
  private final boolean onHostProcessors;
  private volatile Hook hook = (call, of) -> {};

  public HookedDevice(Device device) {
    this(device, true, false);
  }

  /**
   * @param hostVisible false for a device with memory of its own, whose outputs are read whole
   * @param onHostProcessors true for one whose runs need the host's processors
   */
  public HookedDevice(Device device, boolean hostVisible, boolean onHostProcessors) {
    super(device);
    this.hostVisible = hostVisible;
    this.onHostProcessors = onHostProcessors;
  }

  public void hook(Hook other) {
    hook = other;
  }

  @Override
  public DeviceDescription description() {
    DeviceDescription device = super.description();
    return new DeviceDescription(
        device.platform(),
        device.kind(),
        device.ordinal(),
        hostVisible,
        onHostProcessors,
        device.attributes());
  }

  @Override
  public DeviceBuffer upload(TensorType type, MemorySegment data, HostMemory use) {
    hook.on(Call.UPLOAD, type.toString());
    return super.upload(type, data, use);
  }

  @Override
  public Execution execute(DeviceProgram program, DeviceBuffer[] arguments) {
    hook.on(Call.EXECUTE, program.name());
    return new Run(super.execute(program, arguments), program.name());
  }

  private final class Run implements Execution {
    private final Execution run;
    private final String program;

    Run(Execution run, String program) {
      this.run = run;
      this.program = program;
    }

    @Override
    public boolean isDone() {
      hook.on(Call.IS_DONE, program);
      return run.isDone();
    }

    @Override
    public void onDone(Runnable callback) {
      hook.on(Call.ON_DONE, program);
      run.onDone(callback);
    }

    @Override
    public void await() {
      hook.on(Call.AWAIT, program);
      run.await();
    }

    @Override
    public DeviceBuffer output(int index) {
      return new ForwardingBuffer(run.output(index)) {
        @Override
        public void read(long offset, MemorySegment target) {
          hook.on(Call.READ, program);
          super.read(offset, target);
        }

        @Override
        public Optional<MemorySegment> view() {
          hook.on(Call.READ, program);
          return super.view();
        }
      };
    }

    @Override
    public DeviceBuffer take(int index) {
      return run.take(index);
    }

    @Override
    public void close() {
      run.close();
      hook.on(Call.CLOSE, program);
    }
  }
}
