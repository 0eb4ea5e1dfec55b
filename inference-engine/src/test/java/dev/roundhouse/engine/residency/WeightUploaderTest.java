package dev.roundhouse.engine.residency;

import static dev.roundhouse.engine.testing.SmallDevice.LRU;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.roundhouse.bundle.tensor.TensorType;
import dev.roundhouse.engine.device.Arrival;
import dev.roundhouse.engine.device.Device;
import dev.roundhouse.engine.device.DeviceBuffer;
import dev.roundhouse.engine.device.ForwardingDevice;
import dev.roundhouse.engine.device.PartedUpload;
import dev.roundhouse.engine.device.SimulatedDevice;
import dev.roundhouse.engine.device.SimulatedDeviceOptions;
import dev.roundhouse.engine.hostweights.HostWeightStore;
import dev.roundhouse.engine.hostweights.HostWeightsOptions;
import dev.roundhouse.engine.model.ModelImage;
import dev.roundhouse.engine.testing.TestImage;
import dev.roundhouse.engine.time.ManualClock;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** The uploader, turned by this thread, on a link that takes 1 ns for a byte. */
class WeightUploaderTest {
  /** The link takes longer for one than parts should take, so they stay as small. */
  private static final int PART = 200_000;

  private final ManualClock clock = new ManualClock(0);
  private final Watched device =
      new Watched(
          new SimulatedDevice(
              SimulatedDeviceOptions.instant((program, in, out) -> {})
                  .withLinkBytesPerSecond(1_000_000_000),
              clock));
  private final HostWeightStore store = new HostWeightStore(HostWeightsOptions.DEFAULT, device);
  private final Residency residency =
      new Residency(device, store, LRU.withPartBytes(PART), spec -> Optional.empty());
  private final WeightUploader lane = residency.newUploader(clock);
  private final List<ModelWeights> made = new ArrayList<>();

  @AfterEach
  void shouldLeaveNothingOnTheDevice() {
    assertThat(lane.isBusy()).isFalse();
    assertThat(lane.hasTasks()).isFalse();
    made.forEach(residency::close);
    assertThat(device.simulated.openHandles()).isZero();
    store.close();
  }

  @Test
  void shouldPutNoMoreThanTwoPartsOnTheLink() {
    WeightLoad load = load(10 * PART, 0);
    lane.load(load);
    assertThat(lane.hasTasks()).isTrue();
    assertThat(lane.turn()).as("taken up, two parts").isEqualTo(3);
    assertThat(lane.hasTasks()).isFalse();
    assertThat(lane.isBusy()).isTrue();
    assertThat(lane.turn()).as("nothing has arrived").isZero();
    clock.advance(PART);
    assertThat(lane.turn()).as("one has, and the next goes").isEqualTo(2);
    clock.advance(8 * PART);
    finish(load);
    assertThat(device.handedOver).hasSize(10).containsOnly(PART);
    assertThat(load.nanos()).isEqualTo(clock.nanoTime());
    assertThat(load.endedNanos()).isEqualTo(clock.nanoTime());
    assertThat(lane.hasEnded()).isFalse();
    load.settle();
  }

  @Test
  void shouldSendTheRestOfATensorAsASmallerPart() {
    WeightLoad load = load(2 * PART + 500, 0);
    lane.load(load);
    clock.advance(10 * PART);
    lane.turn();
    finish(load);
    assertThat(device.handedOver).containsExactly(PART, PART, 500);
    load.settle();
    assertThat(load.weights().isResident()).isTrue();
  }

  @Test
  void shouldSendATensorWholeThatIsNoLargerThanAPart() {
    WeightLoad load = load(PART, 0);
    lane.load(load);
    lane.turn();
    finish(load);
    assertThat(device.parted).isZero();
    load.settle();
  }

  @Test
  void shouldLetASmallLoadPassALargeOneAndTheLargeOneGoOnBesideSmallOnes() {
    WeightLoad large = load(10 * PART, 0);
    lane.load(large);
    List<WeightLoad> small = new ArrayList<>();
    lane.turn();
    for (int i = 0; i < 8; i++) {
      small.add(load(PART, 0));
      lane.load(small.getLast());
    }
    List<WeightLoad> ended = finishAll(9);
    assertThat(ended.indexOf(large))
        .as("every second place on the link, and two before")
        .isBetween(6, 8);
    assertThat(ended).startsWith(small.getFirst());
    ended.forEach(WeightLoad::settle);
  }

  @Test
  void shouldGiveTheSecondTurnToTheOneWithTheLeastLeft() {
    WeightLoad first = load(4 * PART, 0);
    WeightLoad second = load(6 * PART, 0);
    WeightLoad third = load(2 * PART, 0);
    lane.load(first);
    lane.load(second);
    lane.load(third);
    List<WeightLoad> ended = finishAll(3);
    assertThat(ended).containsExactly(third, first, second);
    ended.forEach(WeightLoad::settle);
  }

  @Test
  void shouldEndALoadAloneWhoseUploadIsRefused() {
    WeightLoad bad = load(4 * PART, 0);
    WeightLoad good = load(4 * PART, 0);
    lane.load(bad);
    lane.load(good);
    lane.turn();
    IllegalStateException refusal = new IllegalStateException("made by a test");
    device.refusal = refusal;
    clock.advance(PART);
    lane.turn();
    assertThat(lane.hasEnded()).isTrue();
    WeightLoad ended = Objects.requireNonNull(lane.ended());
    assertThat(ended.failure()).isSameAs(refusal);
    assertThat(ended.endedNanos()).isEqualTo(clock.nanoTime());
    assertThatThrownBy(ended::settle).isInstanceOf(IllegalStateException.class);
    WeightLoad other = ended == bad ? good : bad;
    finish(other);
    assertThat(other.failure()).isNull();
    other.settle();
    assertThat(ended.weights().isResident()).isFalse();
  }

  @Test
  void shouldGiveTheLinkBackThatAFailedLoadHad() {
    WeightLoad bad = load(10 * PART, 0);
    lane.load(bad);
    lane.turn();
    device.lost = true;
    clock.advance(PART);
    lane.turn();
    assertThat(lane.ended()).isSameAs(bad);
    assertThat(bad.failure()).hasMessage("lost on the way");
    device.lost = false;
    device.handedOver.clear();
    WeightLoad next = load(10 * PART, 0);
    lane.load(next);
    lane.turn();
    assertThat(device.handedOver).as("two parts at once again").hasSize(2);
    finish(next);
    next.settle();
  }

  @Test
  void shouldEndTheLoadWhenWaitingForItSaysWhyItNeverComes() {
    WeightLoad bad = load(10 * PART, 0);
    lane.load(bad);
    lane.turn();
    device.lost = true;
    lane.await();
    assertThat(lane.ended()).isSameAs(bad);
    assertThat(bad.failure()).hasMessage("lost on the way");
  }

  @Test
  void shouldWaitForTheFirstThatIsOnTheLink() {
    lane.await(); // there is none
    WeightLoad load = load(3 * PART, 0);
    lane.load(load);
    lane.turn();
    lane.await();
    assertThat(clock.nanoTime()).isEqualTo(PART);
    finish(load);
    load.settle();
  }

  @Test
  void shouldFreeWhatLeavesBeforeItUploadsWhatIsAskedForLater() {
    WeightLoad first = load(PART, 7);
    lane.load(first);
    finish(first);
    first.settle();
    WeightCache cache = residency.newCache();
    cache.register(0, first.weights(), 0);
    WeightLoad second = load(PART, 0);
    AtomicBoolean freed = new AtomicBoolean();
    device.onUpload = () -> assertThat(freed).isTrue();
    lane.free(left(cache), () -> freed.set(true));
    lane.load(second);
    lane.turn();
    assertThat(freed).isTrue();
    finish(second);
    second.settle();
  }

  @Test
  void shouldTellSinceWhenItIsInACallOfTheDeviceAndSinceWhenItReads() {
    List<Boolean> inDevice = new ArrayList<>();
    List<Boolean> reading = new ArrayList<>();
    device.onUpload =
        () -> {
          inDevice.add(isRecent(lane.inDeviceSinceNanos()));
          reading.add(isRecent(lane.readingSinceNanos()));
        };
    WeightLoad load = load(PART, 0);
    lane.load(load);
    lane.turn();
    assertThat(inDevice).containsExactly(true);
    assertThat(reading).containsExactly(false);
    assertThat(lane.inDeviceSinceNanos()).isEqualTo(WeightUploader.NOT_NOW);
    assertThat(lane.readingSinceNanos()).isEqualTo(WeightUploader.NOT_NOW);
    finish(load);
    load.settle();
  }

  @Test
  void shouldGiveUpWhatIsUnderWayWhenItIsClosed() {
    WeightLoad under = load(10 * PART, 0);
    lane.load(under);
    lane.turn();
    WeightLoad notYet = load(PART, 0);
    lane.load(notYet);
    lane.close();
    assertThat(lane.ended()).isSameAs(under);
    assertThat(lane.ended()).isSameAs(notYet);
    assertThat(notYet.failure()).hasMessage("the server is stopping");
  }

  private static boolean isRecent(long nanos) {
    return nanos != WeightUploader.NOT_NOW && System.nanoTime() - nanos < 60_000_000_000L;
  }

  private static WeightCache.Left left(WeightCache cache) {
    return Objects.requireNonNull(cache.unregister(0));
  }

  private WeightLoad load(int bytes, float first) {
    ModelImage image = TestImage.scaled("m" + made.size(), first, bytes);
    made.add(residency.open(image.spec(), image.weights()));
    return new WeightLoad(made.size(), made.getLast());
  }

  private void finish(WeightLoad load) {
    assertThat(finishAll(1)).containsExactly(load);
  }

  private List<WeightLoad> finishAll(int count) {
    List<WeightLoad> ended = new ArrayList<>();
    while (ended.size() < count) {
      if (lane.turn() == 0) {
        lane.await();
      }
      WeightLoad load = lane.ended();
      if (load != null) {
        ended.add(load);
      }
    }
    return ended;
  }

  /** Tells what is handed over, refuses it, or loses it on the way. */
  private static final class Watched extends ForwardingDevice {
    final SimulatedDevice simulated;
    final List<Integer> handedOver = new ArrayList<>();
    int parted;
    @Nullable RuntimeException refusal;
    boolean lost;
    Runnable onUpload = () -> {};

    Watched(SimulatedDevice simulated) {
      super(simulated);
      this.simulated = simulated;
    }

    @Override
    public DeviceBuffer upload(TensorType type, MemorySegment data, Device.HostMemory use) {
      onUpload.run();
      handOver(data);
      return super.upload(type, data, use);
    }

    @Override
    public Optional<PartedUpload> uploadInParts(TensorType type) {
      onUpload.run();
      parted++;
      return super.uploadInParts(type)
          .map(
              upload ->
                  new PartedUpload() {
                    @Override
                    public DeviceBuffer buffer() {
                      return upload.buffer();
                    }

                    @Override
                    public Arrival write(MemorySegment part) {
                      handOver(part);
                      return new Lossy(upload.write(part));
                    }
                  });
    }

    private void handOver(MemorySegment data) {
      RuntimeException now = refusal;
      if (now != null) {
        refusal = null;
        throw now;
      }
      handedOver.add((int) data.byteSize());
    }

    private final class Lossy implements Arrival {
      private final Arrival arrival;

      Lossy(Arrival arrival) {
        this.arrival = arrival;
      }

      @Override
      public boolean isReady() {
        return arrival.isReady();
      }

      @Override
      public void awaitReady() {
        if (lost) {
          throw new IllegalStateException("lost on the way");
        }
        arrival.awaitReady();
      }
    }
  }
}
