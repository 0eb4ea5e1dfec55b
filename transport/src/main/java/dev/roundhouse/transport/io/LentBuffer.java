package dev.roundhouse.transport.io;

import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.UnpooledDirectByteBuf;
import java.nio.ByteBuffer;

/** Bytes in memory of somebody's who is told when nobody refers to them any more. */
public final class LentBuffer extends UnpooledDirectByteBuf {
  private final Runnable sent;

  public LentBuffer(ByteBufAllocator allocator, ByteBuffer bytes, Runnable sent) {
    super(allocator, bytes, bytes.remaining());
    this.sent = sent;
  }

  @Override
  protected void deallocate() {
    super.deallocate(); // which leaves the memory alone
    sent.run();
  }
}
