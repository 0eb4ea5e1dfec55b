package dev.roundhouse.engine.state;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.bundle.model.InitialState;
import dev.roundhouse.bundle.tensor.DType;
import dev.roundhouse.bundle.tensor.TensorType;
import dev.roundhouse.engine.device.DeviceBuffer;
import dev.roundhouse.engine.device.Execution;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Objects;
import org.junit.jupiter.api.Test;

/** What states count for beside weights. */
class CarriedStateTest {
  private static final int BYTES = 16;

  private final DeviceStates store = new DeviceStates();
  private final CarriedState state =
      new CarriedState(
          store,
          new StateTensors(
              new int[] {0}, new int[] {1}, new int[] {BYTES}, List.of(InitialState.ZERO)));
  private int open;

  @Test
  void shouldCountWhatAStepHasLeftBeforeItIsAnswered() {
    state.take(new Run());
    assertThat(store.bytes()).isEqualTo(BYTES);
    state.dropTaken();
    assertThat(store.bytes()).isZero();
    assertThat(open).isZero();
  }

  @Test
  void shouldCountTwiceWhileTheStateBeforeIsStillThere() {
    step();
    assertThat(store.bytes()).isEqualTo(BYTES);
    state.take(new Run());
    assertThat(store.bytes()).isEqualTo(2 * BYTES);
    state.commit();
    assertThat(store.bytes()).isEqualTo(BYTES);
    state.close();
    assertThat(store.bytes()).isZero();
    assertThat(open).isZero();
  }

  @Test
  void shouldCountAReplacedStateUntilTheBatchThatHasItLetsGo() {
    step();
    HeldState lent = Objects.requireNonNull(state.borrow());
    step();
    assertThat(store.bytes()).isEqualTo(2 * BYTES);
    lent.release();
    assertThat(store.bytes()).isEqualTo(BYTES);
    state.close();
    state.close();
    assertThat(store.bytes()).isZero();
    assertThat(open).isZero();
  }

  @Test
  void shouldFreeNothingOnceTheEngineHasFailed() {
    step();
    HandedTensor handed = HandedTensor.of(store, new Run().take(0));
    assertThat(store.bytes()).isEqualTo(2 * BYTES);
    store.abandon();
    handed.release();
    state.close();
    assertThat(store.bytes()).isZero();
    assertThat(open).as("the device may hang").isEqualTo(2);
  }

  private void step() {
    state.take(new Run());
    assertThat(state.commit()).isTrue();
  }

  private final class Run implements Execution {
    @Override
    public boolean isDone() {
      return true;
    }

    @Override
    public void onDone(Runnable callback) {
      callback.run();
    }

    @Override
    public void await() {}

    @Override
    public DeviceBuffer output(int index) {
      throw new AssertionError("it was taken");
    }

    @Override
    public DeviceBuffer take(int index) {
      open++;
      return new Buffer();
    }

    @Override
    public void close() {}
  }

  private final class Buffer implements DeviceBuffer {
    @Override
    public TensorType type() {
      return TensorType.of(DType.F32, BYTES / Float.BYTES);
    }

    @Override
    public void read(long offset, MemorySegment target) {
      target.fill((byte) 0);
    }

    @Override
    public boolean isReady() {
      return true;
    }

    @Override
    public void awaitReady() {}

    @Override
    public void close() {
      open--;
    }
  }
}
