package dev.roundhouse.benchmarks.client;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.buffer.Unpooled;
import io.netty.handler.codec.http2.DefaultHttp2HeadersDecoder;
import io.netty.handler.codec.http2.Http2Exception;
import io.netty.handler.codec.http2.Http2Headers;
import org.junit.jupiter.api.Test;

class CallHeadersTest {
  private final CallHeaders headers = new CallHeaders("/service/Method", "127.0.0.1:8001");
  private final DefaultHttp2HeadersDecoder decoder = new DefaultHttp2HeadersDecoder();

  @Test
  void shouldNameTheSameFieldsByTheirIndexFromTheSecondCallOn() throws Http2Exception {
    Http2Headers first = next();
    int inFull = headers.block().length;
    headers.setSent();
    assertThat(next()).isEqualTo(first);
    assertThat(headers.block().length).isLessThan(inFull / 5);
    assertThat(first.path()).hasToString("/service/Method");
    assertThat(first.authority()).hasToString("127.0.0.1:8001");
    assertThat(first.method()).hasToString("POST");
    assertThat(first.get("content-type")).hasToString("application/grpc");
    assertThat(first.get("te")).hasToString("trailers");
  }

  @Test
  void shouldSendEveryFieldInFullWhenTheServerKeepsNone() throws Http2Exception {
    decoder.configuration().maxHeaderTableSize(0);
    headers.neverIndex();
    Http2Headers first = next();
    headers.setSent();
    assertThat(next()).isEqualTo(first);
    assertThat(first.path()).hasToString("/service/Method");
  }

  private Http2Headers next() throws Http2Exception {
    return decoder.decodeHeaders(1, Unpooled.wrappedBuffer(headers.block()));
  }
}
