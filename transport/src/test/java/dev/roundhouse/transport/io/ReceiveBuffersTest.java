package dev.roundhouse.transport.io;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.netty.buffer.AbstractByteBufAllocator;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.PooledByteBufAllocator;
import io.netty.channel.RecvByteBufAllocator;
import io.netty.util.concurrent.FastThreadLocal;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class ReceiveBuffersTest {
  @SuppressWarnings("deprecation") // what epoll asks for
  private final RecvByteBufAllocator.Handle handle = new ReceiveBuffers().newHandle();

  @AfterEach
  void shouldLeaveNothingBehind() {
    FastThreadLocal.removeAll(); // the buffer that sockets of this thread would be read into
    Leaks.awaitNone();
  }

  @Test
  void shouldNotReadIntoWhatIsKeptAfterMemoryWasRefused() {
    ByteBuf kept = handle.allocate(PooledByteBufAllocator.DEFAULT).writeLong(1);
    assertThatThrownBy(() -> handle.allocate(new Refusing())).isInstanceOf(OutOfMemoryError.class);
    ByteBuf next = handle.allocate(PooledByteBufAllocator.DEFAULT).writeLong(2);
    assertThat(kept.getLong(kept.readerIndex())).isEqualTo(1);
    assertThat(kept.refCnt()).isEqualTo(1);
    kept.release();
    next.release();
  }

  private static final class Refusing extends AbstractByteBufAllocator {
    @Override
    protected ByteBuf newHeapBuffer(int initial, int max) {
      throw new OutOfMemoryError("as asked");
    }

    @Override
    protected ByteBuf newDirectBuffer(int initial, int max) {
      throw new OutOfMemoryError("as asked");
    }

    @Override
    public boolean isDirectBufferPooled() {
      return false;
    }
  }
}
