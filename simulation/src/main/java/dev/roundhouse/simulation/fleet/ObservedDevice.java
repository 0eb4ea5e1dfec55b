package dev.roundhouse.simulation.fleet;

import dev.roundhouse.engine.device.DeviceBuffer;
import dev.roundhouse.engine.device.DeviceException;
import dev.roundhouse.engine.device.DeviceProgram;
import dev.roundhouse.engine.device.Execution;
import dev.roundhouse.engine.device.ForwardingDevice;
import dev.roundhouse.engine.device.ReferenceFunction;
import dev.roundhouse.engine.device.SimulatedDevice;
import dev.roundhouse.engine.device.SimulatedDeviceOptions;
import dev.roundhouse.engine.time.ManualClock;
import dev.roundhouse.simulation.fleet.Mishaps.Fate;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.SplittableRandom;
import java.util.function.Consumer;

/**
 * The engine's simulated device with a fleet's costs and answers, which reports every run and makes
 * some fail. Not thread-safe.
 */
public final class ObservedDevice extends ForwardingDevice {
  private static final ValueLayout.OfLong I64 = ValueLayout.JAVA_LONG_UNALIGNED;

  private final SimulatedDevice device;
  private final ManualClock clock;
  private final Consumer<Run> runs;
  private final Mishaps mishaps;
  private final Promises promises;
  private final SplittableRandom random;
  private final Run run;
  private final State state;
  private MemorySegment rows = MemorySegment.ofArray(new long[64]);

  /**
   * @param runs told of every run once observed, when the device has taken it
   * @param random for what goes wrong
   * @param promises told when two runs overlap
   */
  public ObservedDevice(
      Fleet fleet,
      ManualClock clock,
      Mishaps mishaps,
      SplittableRandom random,
      Promises promises,
      Consumer<Run> runs) {
    Run current = new Run(fleet.model(0));
    State shared = new State();
    SimulatedDevice simulated =
        new SimulatedDevice(
            new SimulatedDeviceOptions(
                fleet.memory().simulatedBytes(),
                FleetMemory.scaled(fleet.memory().linkBytesPerSecond()),
                program -> duration(fleet.program(program), mishaps, current, shared),
                program -> answers(fleet.program(program).model().index()),
                1,
                SimulatedDeviceOptions.Pinning.NONE),
            clock);
    super(simulated);
    this.clock = clock;
    this.mishaps = mishaps;
    this.random = random;
    this.promises = promises;
    this.runs = runs;
    run = current;
    state = shared;
    device = simulated;
  }

  /** From now on runs are reported, and may fail; until then the engine warms up. */
  public void observe() {
    state.observed = true;
  }

  /** When the last upload has crossed the link; in the past when none is on it. */
  public long linkBusyUntilNanos() {
    return device.linkBusyUntilNanos();
  }

  /** When the running execution ends; in the past when none runs. */
  public long busyUntilNanos() {
    return device.busyUntilNanos();
  }

  @Override
  public Execution execute(DeviceProgram program, DeviceBuffer[] arguments) {
    if (!state.observed) {
      return device.execute(program, arguments);
    }
    if (clock.nanoTime() < device.busyUntilNanos()) {
      promises.broken(
          "'%s' was started %d ns before the running execution is over",
          program.name(), device.busyUntilNanos() - clock.nanoTime());
    }
    for (int i = 1; i < arguments.length; i++) {
      if (!arguments[i].isReady()) {
        promises.broken("'%s' was started before its weights were there", program.name());
      }
    }
    state.fate = mishaps.draw(random);
    if (state.fate == Fate.REFUSED) {
      throw broken(program);
    }
    Execution execution = device.execute(program, arguments);
    collectTags(arguments[0]);
    run.over(device.busyUntilNanos() - state.lastNanos, device.busyUntilNanos());
    runs.accept(run);
    return state.fate == Fate.FAILED ? new FailingExecution(execution, broken(program)) : execution;
  }

  private static long duration(Fleet.Program program, Mishaps mishaps, Run run, State state) {
    run.begin(program.model(), program.batchSize());
    long expected = program.model().cost().nanos(program.batchSize());
    state.lastNanos = state.observed ? mishaps.nanos(state.fate, expected) : expected;
    return state.lastNanos;
  }

  /** Whose rows the run computes; they are told of before they are computed. */
  private void collectTags(DeviceBuffer input) {
    long bytes = input.type().byteSize();
    if (rows.byteSize() < bytes) {
      rows = MemorySegment.ofArray(new long[Math.toIntExact(bytes / I64.byteSize())]);
    }
    input.read(0, rows.asSlice(0, bytes));
    for (long row = 0; row < bytes / I64.byteSize(); row++) {
      long tag = rows.getAtIndex(I64, row);
      if (tag != 0) {
        run.add(tag);
      }
    }
  }

  private static ReferenceFunction answers(int model) {
    return (program, arguments, results) -> {
      MemorySegment rows = arguments.getFirst();
      MemorySegment answers = results.getFirst();
      long count = rows.byteSize() / I64.byteSize();
      for (long row = 0; row < count; row++) {
        answers.setAtIndex(I64, row, RowTag.answer(rows.getAtIndex(I64, row), model));
      }
    };
  }

  private static DeviceException broken(DeviceProgram program) {
    return new DeviceException(
        DeviceException.Code.INTERNAL, "the run of '" + program.name() + "' was made to fail");
  }

  /** What the simulated device's own functions share with this. */
  private static final class State {
    private boolean observed;
    private Fate fate = Fate.NORMAL;
    private long lastNanos;
  }
}
