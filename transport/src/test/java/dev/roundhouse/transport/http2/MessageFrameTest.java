package dev.roundhouse.transport.http2;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.roundhouse.transport.io.Leaks;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.CompositeByteBuf;
import io.netty.buffer.PooledByteBufAllocator;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class MessageFrameTest {
  private final List<String> sent = new ArrayList<>();

  @AfterEach
  void shouldLeaveNothingBehind() {
    Leaks.awaitNone();
  }

  @Test
  void shouldSendWhatIsLentFromWhereItIs() {
    ByteBuffer lent = direct("lent");
    Message message =
        new Message(
            4,
            14,
            sink -> {
              sink.copy(direct("one "));
              sink.lend(lent, () -> sent.add("lent"));
              sink.copy(direct(" three"));
            });
    ByteBuf framed = MessageFrame.of(PooledByteBufAllocator.DEFAULT, message, null);
    lent.put(0, (byte) 'b'); // so that a copy would tell
    assertThat(text(framed)).isEqualTo("\0\0\0\0\16one bent three");
    assertThat(((CompositeByteBuf) framed).numComponents()).isEqualTo(3);
    ByteBuf waiting = framed.retainedSlice(5, 6);
    framed.release();
    assertThat(sent).as("a frame of it has not been sent").isEmpty();
    waiting.release();
    assertThat(sent).containsExactly("lent");
  }

  @Test
  void shouldPutWhatIsCopiedIntoOneBuffer() {
    Message message = new Message(0, 7, sink -> List.of("one ", "two").forEach(copying(sink)));
    ByteBuf framed = MessageFrame.of(PooledByteBufAllocator.DEFAULT, message, null);
    assertThat(framed).isNotInstanceOf(CompositeByteBuf.class);
    assertThat(text(framed)).isEqualTo("\0\0\0\0\7one two");
    framed.release();
  }

  @Test
  void shouldHoldNothingOfAMessageThatCannotBeWritten() {
    Message fails =
        new Message(
            4,
            8,
            sink -> {
              sink.lend(direct("lent"), () -> sent.add("lent"));
              throw new IllegalStateException("made by a test");
            });
    assertThatThrownBy(() -> MessageFrame.of(PooledByteBufAllocator.DEFAULT, fails, null))
        .hasMessage("made by a test");
    Message less = new Message(4, 8, sink -> sink.lend(direct("lent"), () -> sent.add("lent too")));
    assertThatThrownBy(() -> MessageFrame.of(PooledByteBufAllocator.DEFAULT, less, null))
        .hasMessage("a message of 8 bytes wrote 4");
    assertThat(sent).containsExactly("lent", "lent too");
  }

  private static Consumer<String> copying(BufferWritable.Sink sink) {
    return text -> sink.copy(direct(text));
  }

  private static ByteBuffer direct(String text) {
    byte[] bytes = text.getBytes(StandardCharsets.US_ASCII);
    return ByteBuffer.allocateDirect(bytes.length).put(bytes).flip();
  }

  private static String text(ByteBuf framed) {
    return new String(ByteBufUtil.getBytes(framed), StandardCharsets.US_ASCII);
  }

  /** Writes itself by a test's words. */
  private static final class Message extends InputStream implements BufferWritable {
    private final int lentBytes;
    private final int byteSize;
    private final Writing writing;

    Message(int lentBytes, int byteSize, Writing writing) {
      this.lentBytes = lentBytes;
      this.byteSize = byteSize;
      this.writing = writing;
    }

    @Override
    public int byteSize() {
      return byteSize;
    }

    @Override
    public int lentBytes() {
      return lentBytes;
    }

    @Override
    public void writeTo(Sink sink) {
      writing.write(sink);
    }

    @Override
    public int read() {
      throw new AssertionError("nobody reads it");
    }
  }

  private interface Writing {
    void write(BufferWritable.Sink sink);
  }
}
