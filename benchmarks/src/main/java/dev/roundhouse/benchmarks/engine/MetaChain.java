package dev.roundhouse.benchmarks.engine;

import dev.roundhouse.bundle.tensor.DType;
import dev.roundhouse.engine.Engine;
import dev.roundhouse.engine.EngineOptions;
import dev.roundhouse.engine.device.Device.HostMemory;
import dev.roundhouse.engine.device.DeviceBuffer;
import dev.roundhouse.engine.device.DeviceProgram;
import dev.roundhouse.engine.device.Execution;
import dev.roundhouse.engine.device.ProgramSource;
import dev.roundhouse.engine.request.Answer;
import dev.roundhouse.engine.request.AnswerSink;
import dev.roundhouse.engine.request.InferenceRequest;
import dev.roundhouse.engine.request.InputTensor;
import dev.roundhouse.engine.request.MetaRun;
import dev.roundhouse.engine.request.Outcome;
import dev.roundhouse.engine.request.TensorData;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/** An engine with three no-op models, and a meta's run over them: twenty calls, one by one. */
final class MetaChain implements AutoCloseable {
  private static final int MODELS = 3;
  private static final int CALLS = 20;

  /** How long a call is looked for before the virtual thread gives its carrier back. */
  private static final long LOOK_NANOS = 50_000;

  private final NoOpDevice device = new NoOpDevice();
  private final Engine engine = Engine.open(EngineOptions.DEFAULT, device);
  private final ExecutorService metas = Executors.newVirtualThreadPerTaskExecutor();
  private final MemorySegment input =
      Arena.ofAuto().allocate(NoOpModel.INPUT_BYTES, 64).fill((byte) 1);
  private final DeviceProgram program;

  private MetaChain() {
    for (int model = 0; model < MODELS; model++) {
      engine.admin().load(NoOpModel.image(model)).join();
    }
    var code = NoOpModel.image(0).programs().getFirst();
    program = device.compile(new ProgramSource(code.name(), code.read()));
  }

  static MetaChain open() {
    return new MetaChain();
  }

  /** Nanoseconds of a call, over so many runs of the meta, on a virtual thread. */
  double callNanos(int runs) throws InterruptedException, ExecutionException {
    return metas
        .submit(
            () -> {
              long start = System.nanoTime();
              for (int run = 0; run < runs; run++) {
                runMeta();
              }
              return (System.nanoTime() - start) / ((double) runs * CALLS);
            })
        .get();
  }

  /** Nanoseconds of the device's own part of a call: upload, execute, read. */
  double deviceNanos(int runs) {
    DeviceBuffer[] arguments = new DeviceBuffer[1];
    byte[] answer = new byte[Integer.BYTES];
    long start = System.nanoTime();
    for (int i = 0; i < runs * CALLS; i++) {
      input.set(ValueLayout.JAVA_INT, 0, i);
      arguments[0] = device.upload(program.parameters().getFirst(), input, HostMemory.ALIAS);
      try (Execution execution = device.execute(program, arguments)) {
        execution.await();
        execution.output(0).read(0, MemorySegment.ofArray(answer));
      }
      arguments[0].close();
      check(MemorySegment.ofArray(answer), i);
    }
    return (System.nanoTime() - start) / ((double) runs * CALLS);
  }

  @Override
  public void close() {
    metas.close();
    engine.close();
    program.close();
    device.close();
  }

  private void runMeta() {
    MetaRun run = new MetaRun();
    for (int i = 0; i < CALLS; i++) {
      input.set(ValueLayout.JAVA_INT, 0, i);
      Call call = new Call(Thread.currentThread());
      InputTensor tensor =
          new InputTensor(NoOpModel.INPUT, DType.F32, NoOpModel.ONE_ROW, TensorData.of(input));
      engine.submit(
          InferenceRequest.of(NoOpModel.name(i % MODELS), List.of(tensor), call).run(run).build());
      Answer answer = call.await();
      check(answer.outputs().getFirst().data(), i);
      answer.close();
    }
  }

  private static void check(MemorySegment answer, int expected) {
    int got = answer.get(ValueLayout.JAVA_INT_UNALIGNED, 0);
    if (got != expected) {
      throw new IllegalStateException("the answer to %d is %d".formatted(expected, got));
    }
  }

  /** A call that its thread waits for. */
  private static final class Call implements AnswerSink {
    private final Thread caller;
    private @Nullable Answer answer; // published by outcome
    private volatile @Nullable Outcome outcome;

    Call(Thread caller) {
      this.caller = caller;
    }

    @Override
    public void onPart(Answer part) {
      answer = part;
    }

    @Override
    public void onEnd(Outcome how) {
      outcome = how;
      LockSupport.unpark(caller);
    }

    Answer await() {
      Outcome result = outcome;
      long end = System.nanoTime() + LOOK_NANOS;
      while (result == null && System.nanoTime() < end) {
        Thread.onSpinWait();
        result = outcome;
      }
      while (result == null) {
        LockSupport.park(this);
        result = outcome;
      }
      Answer part = answer;
      if (part == null) {
        throw new IllegalStateException(
            "a meta's call ended otherwise than by an answer: " + result);
      }
      return part;
    }
  }
}
