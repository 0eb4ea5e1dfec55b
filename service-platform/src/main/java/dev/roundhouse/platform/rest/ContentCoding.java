package dev.roundhouse.platform.rest;

import java.io.FilterInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.util.Locale;
import java.util.zip.Deflater;
import java.util.zip.DeflaterOutputStream;
import java.util.zip.GZIPInputStream;
import java.util.zip.GZIPOutputStream;
import java.util.zip.InflaterInputStream;
import org.jspecify.annotations.Nullable;

/** How a body is compressed. {@code deflate} is the zlib format, as HTTP defines it. */
public enum ContentCoding {
  GZIP,
  DEFLATE,
  IDENTITY;

  /** The supported codings, as told to a client that used another. */
  static final String SUPPORTED = "gzip, deflate";

  private static final int BUFFER_BYTES = 8 << 10;

  /** As HTTP writes it. */
  public String token() {
    return name().toLowerCase(Locale.ROOT);
  }

  /**
   * What a request's Content-Encoding says.
   *
   * @throws UnknownCodingException when it is unknown
   */
  static ContentCoding ofRequest(@Nullable String header) {
    return switch (header == null ? "" : header.strip().toLowerCase(Locale.ROOT)) {
      case "", "identity" -> IDENTITY;
      case "gzip", "x-gzip" -> GZIP;
      case "deflate" -> DEFLATE;
      default ->
          throw new UnknownCodingException(
              "Content-Encoding '%s' is not supported; use one of %s, or none"
                  .formatted(header, SUPPORTED));
    };
  }

  /** Decompresses {@code body}; closing the result may or may not close {@code body}. */
  InputStream uncompressed(InputStream body) throws IOException {
    return switch (this) {
      case GZIP -> new GZIPInputStream(new Unhurried(body), BUFFER_BYTES);
      case DEFLATE -> new InflaterInputStream(body);
      case IDENTITY -> body;
    };
  }

  /** Compresses what is written; must be closed, which also closes {@code body}. */
  public OutputStream compressing(OutputStream body) throws IOException {
    return switch (this) {
      case GZIP -> new FastGzip(body);
      case DEFLATE -> new FastDeflate(body);
      case IDENTITY -> body;
    };
  }

  /** Reports that more will come until the end: gzip continues after a part only then. */
  private static final class Unhurried extends FilterInputStream {
    Unhurried(InputStream in) {
      super(in);
    }

    @Override
    public int available() {
      return 1;
    }
  }

  /** At the fastest level: the answer waits for it. */
  private static final class FastGzip extends GZIPOutputStream {
    FastGzip(OutputStream out) throws IOException {
      super(out, BUFFER_BYTES);
      def.setLevel(Deflater.BEST_SPEED);
    }
  }

  private static final class FastDeflate extends DeflaterOutputStream {
    FastDeflate(OutputStream out) {
      super(out, new Deflater(Deflater.BEST_SPEED), BUFFER_BYTES);
    }

    @Override
    public void close() throws IOException {
      try {
        super.close();
      } finally {
        def.end();
      }
    }
  }

  /** A request's Content-Encoding is not supported. */
  static final class UnknownCodingException extends RuntimeException {
    UnknownCodingException(String message) {
      super(message, null, false, false);
    }
  }
}
