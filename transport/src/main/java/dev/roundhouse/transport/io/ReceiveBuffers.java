package dev.roundhouse.transport.io;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.channel.FixedRecvByteBufAllocator;
import io.netty.channel.RecvByteBufAllocator;
import io.netty.util.UncheckedBooleanSupplier;
import io.netty.util.concurrent.FastThreadLocal;

/**
 * One buffer for each event loop, into which all of its sockets are read: what was read is handled
 * before the next read. Whoever keeps it makes the loop get another.
 */
public final class ReceiveBuffers implements RecvByteBufAllocator {
  private static final int BYTES = 1 << 16;

  /** Before what was read: the header of a frame that began in an earlier read finds room here. */
  private static final int HEADROOM = 64;

  private static final FastThreadLocal<ByteBuf> OF_LOOP =
      new FastThreadLocal<>() {
        @Override
        protected void onRemoval(ByteBuf buffer) {
          if (buffer.refCnt() > 0) { // Netty releases once too often after an Error in a handler
            buffer.release();
          }
        }
      };

  private final FixedRecvByteBufAllocator fixed = new FixedRecvByteBufAllocator(BYTES);

  @Override
  @SuppressWarnings("deprecation") // epoll asks for this kind
  public Handle newHandle() {
    return new ReusingHandle((ExtendedHandle) fixed.newHandle());
  }

  private static ByteBuf buffer(ByteBufAllocator allocator) {
    ByteBuf buffer = OF_LOOP.getIfExists();
    if (buffer != null && buffer.refCnt() == 1) {
      return buffer.setIndex(HEADROOM, HEADROOM).retain();
    }
    OF_LOOP.remove(); // before memory is asked for, which may be refused
    ByteBuf fresh = allocator.directBuffer(BYTES, BYTES);
    OF_LOOP.set(fresh);
    return fresh.setIndex(HEADROOM, HEADROOM).retain();
  }

  /** True of what was read into such a buffer, as long as nothing of it has been taken. */
  public static boolean hasHeadroom(ByteBuf read) {
    return read.readerIndex() == HEADROOM && read.capacity() == BYTES;
  }

  private static final class ReusingHandle extends RecvByteBufAllocator.DelegatingHandle
      implements ExtendedHandle {
    private final ExtendedHandle delegate;

    ReusingHandle(ExtendedHandle delegate) {
      super(delegate);
      this.delegate = delegate;
    }

    @Override
    public ByteBuf allocate(ByteBufAllocator allocator) {
      return buffer(allocator);
    }

    @Override
    public boolean continueReading(UncheckedBooleanSupplier maybeMore) {
      return delegate.continueReading(maybeMore);
    }
  }
}
