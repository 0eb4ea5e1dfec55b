package dev.roundhouse.platform.rest;

import dev.roundhouse.kserve.status.WireException;
import dev.roundhouse.kserve.status.WireStatus;
import dev.roundhouse.transport.io.FairTurns;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.util.concurrent.CompletableFuture;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Decompresses one body in memory, a turn at a time, into memory that grows with the output and is
 * counted first. For one thread at a time.
 */
final class BodyInflation implements FairTurns.Job {
  /** Memory of zlib and its streams. */
  private static final int STATE_BYTES = 48 << 10;

  /** The most output of a turn: about a millisecond. */
  private static final int TURN_BYTES = 256 << 10;

  private final BodyReader reader;
  private final MemoryHold memory;
  private final @Nullable String encoding;
  private final byte[] compressed;
  private final int length;
  private final BooleanSupplier unwanted;
  private final CompletableFuture<Body> whole = new CompletableFuture<>();
  private @Nullable InputStream in;
  private BodyReader.@Nullable Growing out;
  private int stateBytes;

  /**
   * @param memory counts the output; not used by others until {@link #whole} is done
   * @param encoding the body's Content-Encoding
   * @param unwanted true when it is no longer wanted; any thread
   */
  BodyInflation(
      BodyReader reader,
      MemoryHold memory,
      @Nullable String encoding,
      byte[] compressed,
      int length,
      BooleanSupplier unwanted) {
    this.reader = reader;
    this.memory = memory;
    this.encoding = encoding;
    this.compressed = compressed;
    this.length = length;
    this.unwanted = unwanted;
  }

  /** The output, or the failure that {@link BodyReader} would give. */
  CompletableFuture<Body> whole() {
    return whole;
  }

  @Override
  public boolean turn() {
    try {
      if (!step()) {
        return false;
      }
    } catch (Throwable e) { // an Error too: the client would wait forever
      end(null, e);
      return true;
    }
    end(out, null);
    return true;
  }

  private boolean step() throws IOException {
    if (unwanted.getAsBoolean()) {
      throw new WireException(WireStatus.CANCELLED, "the client has gone");
    }
    InputStream from = in;
    BodyReader.Growing to = out;
    if (from == null || to == null) {
      memory.take(STATE_BYTES);
      stateBytes = STATE_BYTES;
      from = ContentCoding.ofRequest(encoding).uncompressed(stream());
      to = reader.growing(-1);
      in = from;
      out = to;
    }
    return to.readFrom(from, TURN_BYTES);
  }

  private InputStream stream() {
    return new ByteArrayInputStream(compressed, 0, length);
  }

  private void end(BodyReader.@Nullable Growing all, @Nullable Throwable failure) {
    close();
    if (all != null) {
      whole.complete(all.body());
    } else {
      whole.completeExceptionally(told(failure));
    }
  }

  private void close() {
    InputStream open = in;
    in = null;
    out = null;
    if (open != null) {
      try {
        open.close();
      } catch (IOException e) {
        throw new IllegalStateException("memory could not be closed", e);
      }
    }
    memory.giveBack(stateBytes);
    stateBytes = 0;
  }

  private Throwable told(@Nullable Throwable failure) {
    return switch (failure) {
      case null -> new IllegalStateException("a body neither came out nor failed to");
      case IOException damaged -> BodyReader.notEncoded(encoding, damaged);
      case Throwable other -> other;
    };
  }
}
