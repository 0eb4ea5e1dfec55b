package dev.roundhouse.engine.batch;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.roundhouse.engine.device.DeviceBuffer;
import dev.roundhouse.engine.device.Execution;
import dev.roundhouse.engine.device.SimulatedDevice;
import dev.roundhouse.engine.device.SimulatedDeviceOptions;
import dev.roundhouse.engine.layout.Staging;
import dev.roundhouse.engine.observe.Ledger;
import dev.roundhouse.engine.observe.ModelCounters;
import dev.roundhouse.engine.queue.Admitted;
import dev.roundhouse.engine.queue.QueuedRequest;
import dev.roundhouse.engine.request.InferenceRequest;
import dev.roundhouse.engine.testing.ReplySink;
import dev.roundhouse.engine.testing.TestBundle;
import dev.roundhouse.engine.time.ManualClock;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class BatchSlotTest {
  /** Members that a slot has room for at first. */
  private static final int FULL = 16;

  private static final long LARGER = 1 << 20;

  private final SimulatedDevice device =
      new SimulatedDevice(SimulatedDeviceOptions.instant(TestBundle.DOUBLE), new ManualClock());
  private final BatchSlot slot = new BatchSlot(0, device, Ledger.SHARED);
  private final BatchSlot other = new BatchSlot(1, device, Ledger.SHARED);

  @AfterEach
  void close() {
    slot.close();
    other.close();
    device.close();
  }

  @Test
  void shouldLookAtItsMembersAloneWhenItHasNoRoomForMore() {
    for (int member = 0; member < FULL; member++) {
      QueuedRequest request = request(2, 100 - member);
      slot.add(request, 0, 2);
      other.add(request, 0, 2);
    }
    assertThat(slot.hasSameMembers(other)).isTrue();
    assertThat(slot.hasPieces()).isFalse();
    assertThat(slot.oldestArrivalNanos()).isEqualTo(100 - (FULL - 1));
  }

  @Test
  void shouldNotLookAtMembersThatItHadBefore() {
    other.add(request(8, 1), 0, 8);
    other.add(request(8, 1), 4, 4);
    other.clear();
    QueuedRequest request = request(1, 50);
    slot.add(request, 0, 1);
    other.add(request, 0, 1);
    assertThat(slot.hasSameMembers(other)).isTrue();
    assertThat(other.hasPieces()).isFalse();
    assertThat(other.oldestArrivalNanos()).isEqualTo(50);
  }

  @Test
  void shouldHoldNothingAndUseLargerMemoryWhenItHasBeenCleared() {
    Run run = new Run(false);
    fill(run);
    slot.clear();
    assertIsEmpty(run);
  }

  @Test
  void shouldHoldNothingAndUseLargerMemoryWhenItsRunCannotBeFreed() {
    Run run = new Run(true);
    fill(run);
    assertThatThrownBy(slot::clear).hasMessage("made by a test");
    assertIsEmpty(run);
  }

  private void fill(Run run) {
    slot.add(request(3, 1), 0, 3);
    slot.started(run, 5);
    slot.offer(Staging.Memory.allocate(LARGER));
    assertThat(slot.staging().byteSize()).as("while a batch lies in it").isLessThan(LARGER);
  }

  private void assertIsEmpty(Run run) {
    assertThat(run.closed).isTrue();
    assertThat(slot.isFree()).isTrue();
    assertThat(slot.isWarmUp()).as("without members").isTrue();
    assertThat(slot.request(0)).isNull();
    assertThat(slot.live()).isZero();
    assertThat(slot.rows()).isZero();
    assertThat(slot.staging().byteSize()).isEqualTo(LARGER);
  }

  private static QueuedRequest request(int rows, long arrivalNanos) {
    QueuedRequest request =
        new QueuedRequest(
            InferenceRequest.of("m", List.of(), new ReplySink()).build(), queued -> false);
    request.admit(
        0,
        new Admitted(rows, 0, List.of(), 0, 0, null),
        new ModelCounters(),
        0,
        InferenceRequest.NO_DEADLINE,
        arrivalNanos);
    return request;
  }

  /** A run that is only to be closed. */
  private static final class Run implements Execution {
    private final boolean fails;
    private boolean closed;

    Run(boolean fails) {
      this.fails = fails;
    }

    @Override
    public boolean isDone() {
      throw new UnsupportedOperationException();
    }

    @Override
    public void onDone(Runnable callback) {
      throw new UnsupportedOperationException();
    }

    @Override
    public void await() {
      throw new UnsupportedOperationException();
    }

    @Override
    public DeviceBuffer output(int index) {
      throw new UnsupportedOperationException();
    }

    @Override
    public void close() {
      assertThat(closed).as("closed once").isFalse();
      closed = true;
      if (fails) {
        throw new IllegalStateException("made by a test");
      }
    }
  }
}
