package dev.roundhouse.engine.state;

import dev.roundhouse.engine.device.DeviceBuffer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What one step has left on the device. It is freed once it is dropped and no batch has it for an
 * argument. Guarded by the store.
 */
public final class HeldState implements ArgumentsOnDevice {
  private static final Logger log = LoggerFactory.getLogger(HeldState.class);

  private final DeviceStates store;
  private final StateTensors tensors;
  private final @Nullable DeviceBuffer[] buffers;
  private int users;
  private boolean dropped;
  private boolean freed;

  /** Takes {@code buffers}, which count until they are freed. */
  HeldState(DeviceStates store, StateTensors tensors, @Nullable DeviceBuffer[] buffers) {
    this.store = store;
    this.tensors = tensors;
    this.buffers = buffers;
    store.add(tensors.byteSize());
  }

  @Override
  public @Nullable DeviceBuffer argument(int input) {
    int[] inputs = tensors.inputs();
    for (int i = 0; i < inputs.length; i++) {
      if (inputs[i] == input) {
        return buffers[i];
      }
    }
    return null;
  }

  @Override
  public long byteSize() {
    return tensors.byteSize();
  }

  @Nullable DeviceBuffer buffer(int state) {
    return buffers[state];
  }

  void use() {
    users++;
  }

  boolean isUsed() {
    return users > 0;
  }

  @Override
  public void release() {
    synchronized (store) {
      users--;
      freeIfDropped();
    }
  }

  void drop() {
    dropped = true;
    freeIfDropped();
  }

  private void freeIfDropped() {
    if (dropped && users == 0 && !freed) {
      freed = true;
      if (!store.isAbandoned()) {
        free(buffers);
      }
      store.add(-tensors.byteSize());
    }
  }

  /** Frees all. One that cannot be stays on the device, without further effect. */
  static void free(@Nullable DeviceBuffer[] buffers) {
    for (int i = 0; i < buffers.length; i++) {
      DeviceBuffer buffer = buffers[i];
      buffers[i] = null;
      try {
        if (buffer != null) {
          buffer.close();
        }
      } catch (Throwable e) {
        log.warn("state of a sequence could not be freed on the device: {}", e.toString());
      }
    }
  }
}
