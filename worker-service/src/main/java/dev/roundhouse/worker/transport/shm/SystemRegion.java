package dev.roundhouse.worker.transport.shm;

import dev.roundhouse.engine.request.TensorData;
import dev.roundhouse.kserve.status.WireException;
import dev.roundhouse.kserve.status.WireException.About;
import dev.roundhouse.kserve.status.WireStatus;
import java.io.EOFException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.channels.FileChannel;
import java.nio.channels.FileChannel.MapMode;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A part of a POSIX shared-memory object, mapped. The client may truncate the object at any moment,
 * and touching mapped memory that is gone raises SIGBUS, so only {@link RegionCopy} touches it.
 */
final class SystemRegion extends ClientRegion {
  private static final Logger log = LoggerFactory.getLogger(SystemRegion.class);

  /** For an object that still has its size, but whose pages cannot be allocated. */
  private static final String NO_PAGES = "it was smaller meanwhile, or /dev/shm is full";

  private final String key;
  private final long offset;
  private final FileChannel object;
  private final RegionCopy copy;
  private final Arena arena = Arena.ofShared();
  private final MemorySegment mapped;

  /**
   * @param object taken, unless this fails
   * @throws IOException when it cannot be mapped
   */
  SystemRegion(
      String name, String key, long offset, long byteSize, FileChannel object, RegionCopy copy)
      throws IOException {
    super(name, byteSize);
    this.key = key;
    this.offset = offset;
    this.object = object;
    this.copy = copy;
    mapped = object.map(MapMode.READ_WRITE, offset, byteSize, arena);
  }

  /** As the client wrote it. */
  String key() {
    return key;
  }

  long offset() {
    return offset;
  }

  @Override
  void closeMemory() {
    arena.close();
    try {
      object.close();
    } catch (IOException e) {
      log.warn("shared memory region '{}' could not be closed", name(), e);
    }
  }

  /** Reads the object's current size. */
  @Override
  void requireThere(long from, long length) {
    try {
      long size = object.size();
      if (offset + from + length > size) {
        throw WireException.about(
            About.REGION,
            WireStatus.INVALID_ARGUMENT,
            "shared memory region '%s' ends at byte %d of '%s', which has %d bytes by now; make it as large as it was registered, or register it again"
                .formatted(name(), offset + byteSize(), key, size));
      }
    } catch (IOException e) {
      throw lost(e);
    }
  }

  @Override
  TensorData data(long from, long length) {
    return new Data(from, length);
  }

  @Override
  void write(long from, MemorySegment data) {
    boolean written = copy.copy(data, mapped.asSlice(from, data.byteSize()));
    // the rest of a page beyond the object's end takes writes that nobody sees
    requireThere(from, data.byteSize());
    if (!written) {
      throw lost(new IOException(NO_PAGES));
    }
  }

  /** Copies of the host's. */
  @Override
  boolean waitsForDevice() {
    return false;
  }

  private WireException lost(IOException cause) {
    log.warn("shared memory region '{}' cannot be used", name(), cause);
    return WireException.about(
        About.REGION,
        WireStatus.INTERNAL,
        "shared memory region '%s' cannot be used: %s; register it again"
            .formatted(name(), cause.getMessage()));
  }

  private final class Data implements TensorData {
    private final long from;
    private final long length;

    Data(long from, long length) {
      this.from = from;
      this.length = length;
    }

    @Override
    public long byteSize() {
      return length;
    }

    @Override
    public long heldBytes() {
      return 0; // the client's memory
    }

    @Override
    public void copyTo(long begin, MemorySegment target, long targetOffset, long count) {
      if (begin < 0 || count < 0 || begin + count > length) {
        throw new IndexOutOfBoundsException(
            "bytes %d to %d of an input of %d".formatted(begin, begin + count, length));
      }
      MemorySegment part = target.asSlice(targetOffset, count);
      if (part.isNative()) {
        read(from + begin, part);
        return;
      }
      try (Arena own = Arena.ofConfined()) {
        MemorySegment between = own.allocate(count);
        read(from + begin, between);
        part.copyFrom(between);
      }
    }

    private void read(long at, MemorySegment to) {
      try {
        boolean read = copy.copy(mapped.asSlice(at, to.byteSize()), to);
        // the rest of a page beyond the object's end reads as zeros
        if (offset + at + to.byteSize() > object.size()) {
          throw new EOFException("shared memory region '%s' has become smaller".formatted(name()));
        }
        if (!read) {
          throw new IOException(
              "shared memory region '%s' cannot be read: %s".formatted(name(), NO_PAGES));
        }
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }
  }
}
