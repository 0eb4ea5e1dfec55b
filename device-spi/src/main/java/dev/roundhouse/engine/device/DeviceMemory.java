package dev.roundhouse.engine.device;

import java.util.OptionalLong;

/**
 * Device memory in bytes; a device that does not count leaves fields empty.
 *
 * @param largestFreeBlock the most that one allocation can get without anything being freed
 */
public record DeviceMemory(
    OptionalLong inUse, OptionalLong limit, OptionalLong peak, OptionalLong largestFreeBlock) {
  public static final DeviceMemory UNKNOWN =
      new DeviceMemory(
          OptionalLong.empty(), OptionalLong.empty(), OptionalLong.empty(), OptionalLong.empty());
}
