package dev.roundhouse.engine.device;

import java.util.OptionalLong;

/** Device memory in bytes; a device that does not count leaves fields empty. */
public record DeviceMemory(OptionalLong inUse, OptionalLong limit, OptionalLong peak) {
  public static final DeviceMemory UNKNOWN =
      new DeviceMemory(OptionalLong.empty(), OptionalLong.empty(), OptionalLong.empty());
}
