package dev.roundhouse.engine.testing;

import dev.roundhouse.bundle.tensor.TensorType;
import dev.roundhouse.engine.device.Device;
import dev.roundhouse.engine.device.DeviceBuffer;
import dev.roundhouse.engine.device.DeviceProgram;
import dev.roundhouse.engine.device.Execution;
import dev.roundhouse.engine.device.ForwardingDevice;
import dev.roundhouse.engine.device.ProgramSource;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.function.Supplier;

/** A device of which one call, counted from {@link #arm}, ends in something thrown. */
public final class FaultyDevice extends ForwardingDevice {
  private Supplier<? extends Throwable> fault = () -> new IllegalStateException("not armed");
  private int callsLeft;

  public FaultyDevice(Device device) {
    super(device);
  }

  /** Has the {@code call}-th call from now on throw; 0 for none. */
  public void arm(int call, Supplier<? extends Throwable> toThrow) {
    callsLeft = call;
    fault = toThrow;
  }

  /** True when the fault has happened. */
  public boolean hasFailed() {
    return callsLeft <= 0;
  }

  /** One of the calls that are counted, for what is not a device's. */
  public void call() {
    if (--callsLeft == 0) {
      throw FaultyDevice.<RuntimeException>unchecked(fault.get());
    }
  }

  @SuppressWarnings({"unchecked", "TypeParameterUnusedInFormals"})
  private static <T extends Throwable> T unchecked(Throwable thrown) throws T {
    throw (T) thrown;
  }

  @Override
  public DeviceProgram compile(ProgramSource source) {
    call();
    return new Program(super.compile(source));
  }

  @Override
  public byte[] serialize(DeviceProgram program) {
    return super.serialize(((Program) program).wrapped);
  }

  @Override
  public DeviceProgram load(String name, byte[] serialized) {
    call();
    return new Program(super.load(name, serialized));
  }

  @Override
  public DeviceBuffer upload(TensorType type, MemorySegment data, HostMemory use) {
    call();
    return super.upload(type, data, use);
  }

  @Override
  public Execution execute(DeviceProgram program, DeviceBuffer[] arguments) {
    call();
    Execution execution = super.execute(((Program) program).wrapped, arguments);
    return new Execution() {
      @Override
      public boolean isDone() {
        return execution.isDone();
      }

      @Override
      public void onDone(Runnable callback) {
        execution.onDone(callback);
      }

      @Override
      public void await() {
        call();
        execution.await();
      }

      @Override
      public DeviceBuffer output(int index) {
        return execution.output(index);
      }

      @Override
      public void close() {
        execution.close();
      }
    };
  }

  private final class Program implements DeviceProgram {
    private final DeviceProgram wrapped;

    private Program(DeviceProgram wrapped) {
      this.wrapped = wrapped;
    }

    @Override
    public String name() {
      return wrapped.name();
    }

    @Override
    public List<TensorType> parameters() {
      call();
      return wrapped.parameters();
    }

    @Override
    public List<TensorType> results() {
      call();
      return wrapped.results();
    }

    @Override
    public ProgramMemory memory() {
      return wrapped.memory();
    }

    @Override
    public void close() {
      wrapped.close();
    }
  }
}
