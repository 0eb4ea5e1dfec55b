package dev.roundhouse.worker.transport.shm;

import dev.roundhouse.engine.request.TensorData;
import dev.roundhouse.kserve.status.WireException;
import dev.roundhouse.kserve.status.WireStatus;
import java.io.EOFException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A part of a POSIX shared-memory object. It is read and written by system calls and never mapped:
 * its client may make the object smaller at any moment, and touching mapped memory that is no
 * longer there ends the process. Closed when it has been unregistered and nobody uses it any more.
 */
final class ClientRegion {
  private static final Logger log = LoggerFactory.getLogger(ClientRegion.class);

  /** Most bytes of one system call: a buffer holds no more than an int can count. */
  private static final long CALL_BYTES = 1 << 30;

  private final String name;
  private final String key;
  private final long offset;
  private final long byteSize;
  private final FileChannel object;
  private int users = 1; // the one who registered it

  /**
   * @param object taken
   */
  ClientRegion(String name, String key, long offset, long byteSize, FileChannel object) {
    this.name = name;
    this.key = key;
    this.offset = offset;
    this.byteSize = byteSize;
    this.object = object;
  }

  String name() {
    return name;
  }

  /** As the client wrote it. */
  String key() {
    return key;
  }

  long offset() {
    return offset;
  }

  long byteSize() {
    return byteSize;
  }

  /** False when it is closed. */
  synchronized boolean use() {
    if (users == 0) {
      return false;
    }
    users++;
    return true;
  }

  void release() {
    synchronized (this) {
      users--;
      if (users > 0) {
        return;
      }
    }
    try {
      object.close();
    } catch (IOException e) {
      log.warn("shared memory region '{}' could not be closed", name, e);
    }
  }

  /**
   * Refuses a range whose memory is gone.
   *
   * @throws WireException INVALID_ARGUMENT
   */
  void requireThere(long from, long length) {
    try {
      long size = object.size();
      if (offset + from + length > size) {
        throw WireException.invalidArgument(
            "shared memory region '%s' ends at byte %d of '%s', which has %d bytes by now; make it as large as it was registered, or register it again"
                .formatted(name, offset + byteSize, key, size));
      }
    } catch (IOException e) {
      throw lost(e);
    }
  }

  /** The bytes of an input; they are read when the engine copies them. */
  TensorData data(long from, long length) {
    return new Data(from, length);
  }

  /**
   * Writes an output.
   *
   * @throws WireException when its memory is gone
   */
  void write(long from, MemorySegment data) {
    requireThere(from, data.byteSize());
    try {
      long written = 0;
      while (written < data.byteSize()) {
        long length = Math.min(CALL_BYTES, data.byteSize() - written);
        ByteBuffer piece = data.asSlice(written, length).asByteBuffer();
        while (piece.hasRemaining()) {
          object.write(piece, offset + from + written + piece.position());
        }
        written += length;
      }
    } catch (IOException e) {
      throw lost(e);
    }
  }

  private WireException lost(IOException cause) {
    log.warn("shared memory region '{}' cannot be used", name, cause);
    return new WireException(
        WireStatus.INTERNAL,
        "shared memory region '%s' cannot be used: %s; register it again"
            .formatted(name, cause.getMessage()));
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
      try {
        long read = 0;
        while (read < count) {
          long piece = Math.min(CALL_BYTES, count - read);
          read(target.asSlice(targetOffset + read, piece).asByteBuffer(), from + begin + read);
          read += piece;
        }
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }

    private void read(ByteBuffer to, long at) throws IOException {
      while (to.hasRemaining()) {
        if (object.read(to, offset + at + to.position()) < 0) {
          throw new EOFException("shared memory region '%s' has become smaller".formatted(name));
        }
      }
    }
  }
}
