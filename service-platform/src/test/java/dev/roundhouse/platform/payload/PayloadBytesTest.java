package dev.roundhouse.platform.payload;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.platform.payload.PayloadEvent.Type;
import dev.roundhouse.platform.payload.PayloadLog.Drop;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.springframework.util.unit.DataSize;

/** Messages of 40 KB at most, two of which have no room. */
@Timeout(60)
class PayloadBytesTest {
  private static final Map<String, String> FORM = Map.of("content-type", "text/x");

  private PayloadCollector collector;
  private PayloadLog log;

  @BeforeEach
  void start() throws Exception {
    collector = new PayloadCollector();
    log = collector.log(DataSize.ofKilobytes(40), "*");
  }

  @AfterEach
  void shouldCountNothingAnyMore() {
    log.close();
    assertThat(log.waitingBytes()).isZero();
    collector.close();
  }

  private static PayloadEvent event(byte[] whole) {
    return new PayloadEvent(Type.REQUEST, "1", Instant.EPOCH, new PayloadBody.AsIs(FORM, whole));
  }

  private static ByteBuf part(int bytes) {
    return Unpooled.wrappedBuffer(new byte[bytes]);
  }

  @Test
  void shouldSendWhatWasCollected() throws Exception {
    PayloadBytes message = new PayloadBytes(log);
    message.add(Unpooled.copiedBuffer("abc", StandardCharsets.US_ASCII));
    message.add(Unpooled.EMPTY_BUFFER);
    message.add(Unpooled.copiedBuffer("def", StandardCharsets.US_ASCII));
    assertThat(log.waitingBytes()).isPositive();
    message.offer(PayloadBytesTest::event);
    message.clear();
    assertThat(collector.next().body()).isEqualTo("abcdef");
    new PayloadBytes(log).offer(PayloadBytesTest::event);
    assertThat(collector.next().body()).as("of nothing").isEmpty();
  }

  @Test
  void shouldDropWhatIsLargeAndWhatHasNoRoom() {
    PayloadBytes large = new PayloadBytes(log);
    large.add(part(40 << 10));
    large.add(part(1));
    assertThat(log.waitingBytes()).isZero();
    large.offer(PayloadBytesTest::event);
    assertThat(log.dropped(Drop.LARGE)).isEqualTo(1);

    PayloadBytes first = new PayloadBytes(log);
    first.add(part(40 << 10));
    PayloadBytes second = new PayloadBytes(log);
    second.add(part(40 << 10));
    second.offer(PayloadBytesTest::event);
    assertThat(log.dropped(Drop.FULL)).isEqualTo(1);
    first.clear();
    assertThat(log.waitingBytes()).isZero();
  }

  @Test
  void shouldCountWhatCannotBeCopiedOrMade() {
    PayloadBytes message = new PayloadBytes(log);
    message.add(part(3));
    ByteBuf gone = Unpooled.buffer().writeByte(1);
    gone.release();
    message.add(gone); // throws when it is read
    assertThat(log.waitingBytes()).isZero();
    message.add(part(3));
    message.offer(PayloadBytesTest::event);
    assertThat(log.dropped(Drop.FAILED)).isEqualTo(1);

    PayloadBytes unmade = new PayloadBytes(log);
    unmade.add(part(3));
    unmade.offer(
        whole -> {
          throw new OutOfMemoryError("of a test");
        });
    assertThat(log.dropped(Drop.FAILED)).isEqualTo(2);
    assertThat(log.waitingBytes()).isZero();
  }
}
