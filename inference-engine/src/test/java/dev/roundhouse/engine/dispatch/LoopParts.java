package dev.roundhouse.engine.dispatch;

import dev.roundhouse.engine.batch.BatchSlot;
import dev.roundhouse.engine.deliver.AnswerPool;
import dev.roundhouse.engine.device.DeviceBuffer;
import dev.roundhouse.engine.device.Execution;
import dev.roundhouse.engine.device.SimulatedDevice;
import dev.roundhouse.engine.device.SimulatedDeviceOptions;
import dev.roundhouse.engine.hostweights.HostWeightStore;
import dev.roundhouse.engine.hostweights.HostWeightsOptions;
import dev.roundhouse.engine.lane.LaneOptions;
import dev.roundhouse.engine.lane.Lanes;
import dev.roundhouse.engine.lane.ModelLane;
import dev.roundhouse.engine.lane.SharedParts;
import dev.roundhouse.engine.model.ProgramModel;
import dev.roundhouse.engine.model.ServedModels;
import dev.roundhouse.engine.queue.Accounting;
import dev.roundhouse.engine.queue.ByteBudget;
import dev.roundhouse.engine.queue.QueueShares;
import dev.roundhouse.engine.residency.Residency;
import dev.roundhouse.engine.residency.WeightCache;
import dev.roundhouse.engine.residency.WeightLoad;
import dev.roundhouse.engine.residency.WeightUploader;
import dev.roundhouse.engine.schedule.Fifo;
import dev.roundhouse.engine.testing.SmallDevice;
import dev.roundhouse.engine.testing.TestImage;
import dev.roundhouse.engine.time.ManualClock;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** What the dispatch loop is made of, without the loop, on a device that does nothing. */
final class LoopParts implements AutoCloseable {
  static final int WEIGHT_BYTES = 64;

  final ManualClock clock = new ManualClock(1_000);
  final SimulatedDevice device =
      new SimulatedDevice(SimulatedDeviceOptions.instant(SmallDevice.SCALE), clock);
  private final HostWeightStore store = new HostWeightStore(HostWeightsOptions.DEFAULT, device);
  private final Residency residency =
      new Residency(device, store, SmallDevice.LRU, spec -> Optional.empty());
  private final WeightUploader link = residency.newUploader(clock);

  final DispatchParts parts = DispatchParts.of(context());
  final Lanes lanes = parts.lanes();
  final BatchSlots slots = parts.slots();
  final WarmUp warmUp = parts.warmUp();
  final OperatorLoads asked = new OperatorLoads();
  final WeightEvictions evictions;
  final WeightMover weights;

  private final WeightCache cache = parts.cache();
  private final SharedParts shared = parts.shared();
  private final ServedModels models = new ServedModels(device, residency, clock);
  private final List<ProgramModel> built = new ArrayList<>();

  LoopParts() {
    Uploads uploads = new Uploads(link, null);
    evictions = new WeightEvictions(parts, uploads, asked);
    weights = new WeightMover(parts, uploads, true);
  }

  DispatchContext context() {
    ByteBudget budget = new ByteBudget(1 << 20, "a limit");
    return new DispatchContext(
        device,
        clock,
        Fifo::new,
        residency,
        new Accounting(budget, clock, new QueueShares()),
        budget,
        new AnswerPool(0),
        new FailStop(),
        RunMark.NONE,
        null,
        null,
        16);
  }

  /** A model for one row, whose weights are not on the device. */
  ModelLane add(String name) {
    ProgramModel model = models.build(TestImage.scaled(name, 2, WEIGHT_BYTES));
    built.add(model);
    ModelLane lane = new ModelLane(model, new LaneOptions(1, 64, 0, false, false), shared);
    lanes.add(lane);
    cache.register(lane.modelIndex(), lane.weights(), model.scratchBytes());
    return lane;
  }

  /** As {@link #add}, with weights that are there. */
  ModelLane addResident(String name) {
    ModelLane lane = add(name);
    begin(lane);
    turnLink();
    ended();
    return lane;
  }

  /** Begins to bring weights. */
  void begin(ModelLane lane) {
    cache.begin(lane.modelIndex());
    lanes.loadBegun(lane, 0, clock.nanoTime());
    link.load(new WeightLoad(lane.modelIndex(), lane.weights()));
  }

  /** Has the link do what there is to do. */
  void turnLink() {
    while (link.turn() > 0) {
      Thread.onSpinWait();
    }
  }

  /** Notes the end of the one load that has ended. */
  void ended() {
    WeightLoad load = link.ended();
    if (load == null || load.failure() != null) {
      throw new AssertionError(
          "weights have not arrived: " + (load == null ? "no load has ended" : load.failure()));
    }
    cache.ended(load);
    lanes.loadEnded(lanes.get(load.modelIndex()), 0, load.nanos(), load.endedNanos());
  }

  /** Has a slot run the model's program, for so long. */
  void run(BatchSlot slot, long nanos) {
    slot.started(new Nothing(), clock.nanoTime());
    clock.advance(nanos);
    slot.ended(clock.nanoTime());
  }

  @Override
  public void close() {
    slots.forEach(BatchSlot::close);
    turnLink();
    link.close();
    built.forEach(models::free);
    store.close();
  }

  /** A run that returns nothing. */
  private static final class Nothing implements Execution {
    @Override
    public boolean isDone() {
      return true;
    }

    @Override
    public void onDone(Runnable action) {
      action.run();
    }

    @Override
    public void await() {}

    @Override
    public DeviceBuffer output(int index) {
      throw new AssertionError("it has no outputs");
    }

    @Override
    public void close() {}
  }
}
