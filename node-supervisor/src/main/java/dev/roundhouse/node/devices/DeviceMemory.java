package dev.roundhouse.node.devices;

/** Memory of a device, of all processes together. */
public record DeviceMemory(long usedBytes, long totalBytes) {

  public double usedPercent() {
    return totalBytes == 0 ? 0 : 100.0 * usedBytes / totalBytes;
  }
}
