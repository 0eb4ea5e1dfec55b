package dev.roundhouse.gateway.payload;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.platform.payload.PayloadBody;
import dev.roundhouse.platform.payload.PayloadCollector;
import dev.roundhouse.platform.payload.PayloadCollector.Received;
import dev.roundhouse.platform.payload.PayloadLog;
import dev.roundhouse.platform.payload.PayloadLog.Drop;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.handler.codec.http.DefaultHttpHeaders;
import io.netty.handler.codec.http.HttpHeaders;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.springframework.util.unit.DataSize;

@Timeout(60)
class BufferedCopyTest {
  private static final BufferedCopy.MessageForm FORM =
      new BufferedCopy.MessageForm() {
        @Override
        public PayloadBody request(byte[] whole) {
          return new PayloadBody.AsIs(Map.of("content-type", "asked"), whole);
        }

        @Override
        public PayloadBody answer(byte[] whole) {
          return new PayloadBody.AsIs(Map.of("content-type", "answered"), whole);
        }
      };

  private PayloadCollector collector;
  private PayloadLog log;

  @BeforeEach
  void start() throws Exception {
    collector = new PayloadCollector();
    log = collector.log(DataSize.ofKilobytes(1), "*");
  }

  @AfterEach
  void shouldHoldNothingAnyMore() {
    log.close();
    assertThat(log.waitingBytes()).isZero();
    assertThat(collector.waiting()).isZero();
    collector.close();
  }

  private static ByteBuf text(String text) {
    return Unpooled.copiedBuffer(text, StandardCharsets.US_ASCII);
  }

  private static ByteBuf gone() {
    ByteBuf gone = text("gone");
    gone.release();
    return gone;
  }

  @Test
  void shouldSendBothOnceWithOneId() throws Exception {
    BufferedCopy copy = new BufferedCopy(log, "", FORM);
    copy.request(text("as"));
    copy.request(text("ked"));
    copy.requestEnd();
    copy.requestEnd();
    copy.answer(text("answered"));
    copy.end(true);
    Received request = collector.next();
    assertThat(request.body()).isEqualTo("asked");
    assertThat(request.header("content-type")).isEqualTo("asked");
    assertThat(request.header("ce-id")).hasSize(36);
    Received answer = collector.next();
    assertThat(answer.body()).isEqualTo("answered");
    assertThat(answer.header("ce-id")).isEqualTo(request.header("ce-id"));
  }

  @Test
  void shouldForgetWhatIsNotAnswered() {
    BufferedCopy copy = new BufferedCopy(log, "", FORM);
    copy.request(text("asked"));
    copy.answer(text("begun"));
    assertThat(log.waitingBytes()).isPositive();
    copy.end(false);
    copy.end(false);
    assertThat(log.waitingBytes()).isZero();
    for (Drop each : Drop.values()) {
      assertThat(log.dropped(each)).isZero();
    }
  }

  @Test
  void shouldCountARequestThatCannotBeCopiedAndSendItsAnswer() throws Exception {
    BufferedCopy copy = new BufferedCopy(log, "", FORM);
    copy.request(gone());
    copy.requestEnd();
    copy.answer(text("answered"));
    copy.end(true);
    assertThat(collector.next().body()).isEqualTo("answered");
    assertThat(log.dropped(Drop.FAILED)).isEqualTo(1);
  }

  @Test
  void shouldCountAnAnswerWhoseHeadCannotBeRead() throws Exception {
    BufferedCopy copy =
        new BufferedCopy(
            log,
            "mine",
            new BufferedCopy.MessageForm() {
              @Override
              public PayloadBody request(byte[] whole) {
                return FORM.request(whole);
              }

              @Override
              public void answerHead(HttpHeaders headers) {
                throw new OutOfMemoryError("of a test");
              }

              @Override
              public PayloadBody answer(byte[] whole) {
                return FORM.answer(whole);
              }
            });
    copy.request(text("asked"));
    copy.requestEnd();
    copy.answerHead(200, new DefaultHttpHeaders());
    copy.answer(text("answered"));
    copy.end(true);
    assertThat(collector.next().header("ce-id")).isEqualTo("mine");
    assertThat(log.dropped(Drop.FAILED)).isEqualTo(1);
  }
}
