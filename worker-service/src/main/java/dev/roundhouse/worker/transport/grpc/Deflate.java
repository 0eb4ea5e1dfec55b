package dev.roundhouse.worker.transport.grpc;

import io.grpc.Decompressor;
import java.io.InputStream;
import java.util.zip.InflaterInputStream;

/**
 * gRPC's {@code deflate}, which is zlib's format. Clients on gRPC's C core offer it; grpc-java
 * brings gzip only. Thread-safe.
 */
public final class Deflate implements Decompressor {
  @Override
  public String getMessageEncoding() {
    return "deflate";
  }

  @Override
  public InputStream decompress(InputStream in) {
    return new InflaterInputStream(in);
  }
}
