package dev.roundhouse.engine.sequence;

import dev.roundhouse.bundle.request.SequenceStep;
import dev.roundhouse.engine.request.OutputTensor;
import dev.roundhouse.engine.request.TensorData;
import dev.roundhouse.engine.state.CarriedState;
import dev.roundhouse.engine.state.DeviceStates;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayDeque;
import java.util.List;
import java.util.Queue;
import org.jspecify.annotations.Nullable;

/**
 * One sequence: its state, and the steps that wait for the running one. Fields are guarded by
 * {@link Sequences}, except the state: it is written after a step and read by the next, and the
 * hand-over between the two orders that.
 */
final class Sequence {
  private final SequenceRules rules;
  private final SequenceStep.Id id;

  /** Little-endian, row-major; null before the first step has run. */
  private final byte[] @Nullable [] state;

  /** In place of {@link #state}, for state that may stay on the device; null for other. */
  private final @Nullable CarriedState carried;

  final Queue<Step> waiting = new ArrayDeque<>();

  /** The step that has been handed over and has not ended. */
  @Nullable Step running;

  /** True while a thread is handing steps over. */
  boolean handingOver;

  /** Steps that have begun to be admitted and have not ended. */
  int open;

  /** True when no further step can find it. */
  boolean over;

  long lastUsedNanos;
  boolean counted = true;

  Sequence(SequenceRules rules, SequenceStep.Id id, DeviceStates states, long nowNanos) {
    this.rules = rules;
    this.id = id;
    state = new byte[rules.stateCount()] @Nullable [];
    carried = rules.staysOnDevice() ? new CarriedState(states, rules.stateTensors()) : null;
    lastUsedNanos = nowNanos;
  }

  /** Its state, if that may stay on the device. */
  @Nullable CarriedState carried() {
    return carried;
  }

  /** Frees its state; no step will ask for it. */
  void close() {
    if (carried != null) {
      carried.close();
    }
  }

  SequenceRules rules() {
    return rules;
  }

  SequenceStep.Id id() {
    return id;
  }

  /** Stores the state that a step left. */
  void keep(List<OutputTensor> outputs) {
    byte[][] copies = new byte[outputs.size()][];
    for (int i = 0; i < copies.length; i++) {
      copies[i] = outputs.get(i).data().toArray(ValueLayout.JAVA_BYTE);
    }
    if (carried != null) {
      carried.keep(copies);
    } else {
      System.arraycopy(copies, 0, state, 0, copies.length);
    }
  }

  /** The state that the next step starts from; read when its inputs are copied. */
  TensorData state(int index, int byteSize) {
    return new Kept(index, byteSize);
  }

  private final class Kept implements TensorData {
    private final int index;
    private final int byteSize;

    Kept(int index, int byteSize) {
      this.index = index;
      this.byteSize = byteSize;
    }

    @Override
    public long byteSize() {
      return byteSize;
    }

    /** None: it is counted for as long as the sequence exists. */
    @Override
    public long heldBytes() {
      return 0;
    }

    @Override
    public void copyTo(long offset, MemorySegment target, long targetOffset, long length) {
      if (carried != null) {
        carried.copyTo(index, offset, target, targetOffset, length);
        return;
      }
      byte[] kept = state[index];
      if (kept == null) {
        rules.stateTensors().copyInitial(index, offset, target.asSlice(targetOffset, length));
      } else {
        MemorySegment.copy(MemorySegment.ofArray(kept), offset, target, targetOffset, length);
      }
    }
  }
}
