package dev.roundhouse.worker.transport;

import dev.roundhouse.engine.device.DeviceDescription;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * Who answers, as receipts say it.
 *
 * @param worker its host and process
 * @param device its platform, ordinal and kind
 */
public record ReceiptOrigin(String worker, String device) {

  /** Of this process. */
  public static ReceiptOrigin of(DeviceDescription device) {
    return new ReceiptOrigin(
        host() + "/" + ProcessHandle.current().pid(),
        device.platform() + ":" + device.ordinal() + " " + device.kind());
  }

  /** As the system has it: a name server may be slow, and knows pods by other names. */
  private static String host() {
    String named = System.getenv("HOSTNAME"); // in a pod, its name
    if (named != null && !named.isEmpty()) {
      return named;
    }
    try {
      return Files.readString(Path.of("/proc/sys/kernel/hostname")).strip();
    } catch (IOException e) {
      return "unknown";
    }
  }
}
