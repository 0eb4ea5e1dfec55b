package dev.roundhouse.worker.transport.tstream;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.channel.RecvByteBufAllocator;
import io.netty.util.UncheckedBooleanSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** Has a connection's bytes read into the message that they belong to, where there is one. */
final class MessageReads implements RecvByteBufAllocator {
  private final RecvByteBufAllocator others;
  private final Supplier<@Nullable ByteBuf> place;

  /**
   * @param place asked on the event loop before each read; null for where others are read to
   */
  MessageReads(RecvByteBufAllocator others, Supplier<@Nullable ByteBuf> place) {
    this.others = others;
    this.place = place;
  }

  @Override
  @SuppressWarnings("deprecation") // epoll asks for this kind
  public Handle newHandle() {
    return new PlacingHandle((ExtendedHandle) others.newHandle());
  }

  private final class PlacingHandle extends RecvByteBufAllocator.DelegatingHandle
      implements ExtendedHandle {
    private final ExtendedHandle delegate;

    PlacingHandle(ExtendedHandle delegate) {
      super(delegate);
      this.delegate = delegate;
    }

    @Override
    public ByteBuf allocate(ByteBufAllocator allocator) {
      ByteBuf placed = place.get();
      return placed == null ? delegate.allocate(allocator) : placed;
    }

    @Override
    public boolean continueReading(UncheckedBooleanSupplier maybeMore) {
      return delegate.continueReading(maybeMore);
    }
  }
}
