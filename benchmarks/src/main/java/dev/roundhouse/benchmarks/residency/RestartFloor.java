package dev.roundhouse.benchmarks.residency;

import com.sun.jna.Native;
import java.io.EOFException;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;

/** What a start cannot do without: weight files are read into memory, and copied once. */
final class RestartFloor {
  private RestartFloor() {}

  /**
   * Reads and copies the weights of every bundle; both stay in memory for as long as the process.
   *
   * @return bytes of all files together
   */
  static long copy(List<Path> folders) throws IOException {
    long bytes = 0;
    for (Path folder : folders) {
      MemorySegment host = read(folder.resolve("weights.safetensors"));
      allocate(host.byteSize()).copyFrom(host);
      bytes += host.byteSize();
    }
    return bytes;
  }

  private static MemorySegment read(Path file) throws IOException {
    try (FileChannel channel = FileChannel.open(file, StandardOpenOption.READ)) {
      MemorySegment memory = allocate(channel.size());
      ByteBuffer rest = memory.asByteBuffer();
      while (rest.hasRemaining()) {
        if (channel.read(rest) < 0) {
          throw new EOFException(file + " was cut short");
        }
      }
      return memory;
    }
  }

  /** An arena would fill memory with zeros first. */
  private static MemorySegment allocate(long bytes) {
    return MemorySegment.ofAddress(Native.malloc(bytes)).reinterpret(bytes);
  }
}
