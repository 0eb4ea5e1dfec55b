package dev.roundhouse.transport.http2;

import io.grpc.Codec;
import java.io.InputStream;
import java.io.OutputStream;
import java.util.zip.DeflaterOutputStream;
import java.util.zip.InflaterInputStream;

/**
 * The message encoding {@code deflate}, which grpc-java lacks and clients on gRPC's C core offer:
 * the zlib format of RFC 1950, as those send it. Thread-safe.
 */
public final class DeflateCodec implements Codec {

  @Override
  public String getMessageEncoding() {
    return "deflate";
  }

  @Override
  public OutputStream compress(OutputStream to) {
    return new DeflaterOutputStream(to);
  }

  @Override
  public InputStream decompress(InputStream from) {
    return new InflaterInputStream(from);
  }
}
