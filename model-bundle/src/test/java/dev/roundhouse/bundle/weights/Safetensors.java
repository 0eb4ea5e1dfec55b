package dev.roundhouse.bundle.weights;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;

/** Writes safetensors files, well formed or not. */
public final class Safetensors {
  private Safetensors() {}

  public static byte[] bytes(String header, byte[] data) {
    byte[] json = header.getBytes(StandardCharsets.UTF_8);
    return claiming(json.length, json, data);
  }

  static byte[] claiming(long headerBytes, byte[] header, byte[] data) {
    return ByteBuffer.allocate(8 + header.length + data.length)
        .order(ByteOrder.LITTLE_ENDIAN)
        .putLong(headerBytes)
        .put(header)
        .put(data)
        .array();
  }

  public static Path write(Path folder, byte[] bytes) {
    try {
      return Files.write(folder.resolve("weights.safetensors"), bytes);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** A file without weights. */
  public static byte[] empty() {
    return bytes("{\"__metadata__\":{\"argument_order\":\"[]\"}}", new byte[0]);
  }
}
