package dev.roundhouse.grpc;

import io.grpc.Status;
import java.io.FilterInputStream;
import java.io.IOException;
import java.io.InputStream;

/** Ends with RESOURCE_EXHAUSTED what grows beyond a limit while it is uncompressed. */
final class BoundedStream extends FilterInputStream {
  private final int limit;
  private long count;

  BoundedStream(InputStream in, int limit) {
    super(in);
    this.limit = limit;
  }

  @Override
  public int read() throws IOException {
    int read = super.read();
    counted(read < 0 ? 0 : 1);
    return read;
  }

  @Override
  public int read(byte[] to, int offset, int length) throws IOException {
    int read = super.read(to, offset, length);
    counted(Math.max(read, 0));
    return read;
  }

  @Override
  public long skip(long bytes) throws IOException {
    long skipped = super.skip(bytes);
    counted(skipped);
    return skipped;
  }

  @Override
  public boolean markSupported() {
    return false;
  }

  private void counted(long bytes) {
    count += bytes;
    if (count > limit) {
      throw Status.RESOURCE_EXHAUSTED
          .withDescription("Decompressed gRPC message exceeds maximum size " + limit)
          .asRuntimeException();
    }
  }
}
