package dev.roundhouse.pjrt;

import dev.roundhouse.engine.device.DeviceException;
import dev.roundhouse.engine.device.DeviceException.Code;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.HexFormat;

/**
 * Wraps a serialised executable so that XLA, which crashes on a flipped bit and trusts an
 * executable of another build, never sees one: {@code magic, version, plugin sha256, machine
 * sha256, payload sha256, payload}. Big-endian.
 *
 * @param plugin digest of the plugin's file
 * @param machine digest of what compiled code depends on besides: device kind, CPU features
 */
record ExecutableEnvelope(byte[] plugin, byte[] machine) {
  private static final int MAGIC = 0x52484558; // RHEX
  private static final int VERSION = 1;
  private static final int HEADER = 2 * Integer.BYTES + 3 * Sha256.BYTES;

  byte[] wrap(byte[] payload) {
    return ByteBuffer.allocate(Math.addExact(HEADER, payload.length))
        .putInt(MAGIC)
        .putInt(VERSION)
        .put(plugin)
        .put(machine)
        .put(Sha256.of(payload, 0, payload.length))
        .put(payload)
        .array();
  }

  /**
   * @throws DeviceException INVALID_ARGUMENT unless these bytes left {@link #wrap} of an equal
   *     envelope
   */
  Payload unwrap(String name, byte[] bytes) {
    if (bytes.length <= HEADER) {
      throw refused(name, "it has " + bytes.length + " bytes, fewer than the header of " + HEADER);
    }
    ByteBuffer buffer = ByteBuffer.wrap(bytes);
    int magic = buffer.getInt();
    int version = buffer.getInt();
    if (magic != MAGIC || version != VERSION) {
      throw refused(
          name,
          "it starts with %08x version %d, expected %08x version %d"
              .formatted(magic, version, MAGIC, VERSION));
    }
    check(name, "the plugin file", plugin, take(buffer));
    check(name, "the device kind and CPU features", machine, take(buffer));
    byte[] digest = Sha256.of(bytes, HEADER, bytes.length - HEADER);
    check(name, "the payload", digest, take(buffer));
    return new Payload(
        HexFormat.of().formatHex(digest), Arrays.copyOfRange(bytes, HEADER, bytes.length));
  }

  private static byte[] take(ByteBuffer buffer) {
    byte[] digest = new byte[Sha256.BYTES];
    buffer.get(digest);
    return digest;
  }

  private static void check(String name, String what, byte[] here, byte[] recorded) {
    if (!Arrays.equals(here, recorded)) {
      HexFormat hex = HexFormat.of();
      throw refused(
          name,
          "sha256 of %s is %s, it records %s"
              .formatted(what, hex.formatHex(here), hex.formatHex(recorded)));
    }
  }

  private static DeviceException refused(String name, String why) {
    return new DeviceException(
        Code.INVALID_ARGUMENT,
        "serialised executable of " + name + " refused: " + why + ". Compile it again here.");
  }

  /**
   * @param sha256 of the bytes, in hexadecimal
   */
  record Payload(String sha256, byte[] bytes) {}
}
