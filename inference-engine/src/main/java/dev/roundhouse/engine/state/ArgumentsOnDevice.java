package dev.roundhouse.engine.state;

import dev.roundhouse.engine.device.DeviceBuffer;
import org.jspecify.annotations.Nullable;

/** Inputs of a batch that are on the device already; borrowed until they are released. */
public interface ArgumentsOnDevice {

  /** What is fed to an input of the program; null for one that is uploaded. */
  @Nullable DeviceBuffer argument(int input);

  /** Of all of them. */
  long byteSize();

  /** The batch does not need them any more. Once. */
  void release();
}
