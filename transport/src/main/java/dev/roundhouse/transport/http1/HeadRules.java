package dev.roundhouse.transport.http1;

import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaderValues;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http.HttpRequest;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http.TooLongHttpHeaderException;
import io.netty.handler.codec.http.TooLongHttpLineException;
import org.jspecify.annotations.Nullable;

/** Heads that are always refused: nothing after them can be understood. */
final class HeadRules {
  private static final int BAD_REQUEST = 400;
  private static final int EXPECTATION_FAILED = 417;
  private static final int NOT_IMPLEMENTED = 501;

  private HeadRules() {}

  /** Null for a head that may be answered. */
  static RequestGuard.@Nullable Refusal refusal(HttpRequest head) {
    Throwable malformed = head.decoderResult().cause();
    if (malformed != null) {
      return new RequestGuard.Refusal(
          codeOf(malformed), "the request's head is malformed: " + malformed.getMessage());
    }
    String expected = head.headers().get(HttpHeaderNames.EXPECT);
    if (expected != null && !HttpHeaderValues.CONTINUE.contentEqualsIgnoreCase(expected)) {
      return new RequestGuard.Refusal(
          EXPECTATION_FAILED, "Expect '" + expected + "' is not known; 100-continue is");
    }
    String coding = head.headers().get(HttpHeaderNames.TRANSFER_ENCODING);
    if (coding != null && !HttpHeaderValues.CHUNKED.contentEqualsIgnoreCase(coding)) {
      return new RequestGuard.Refusal(
          NOT_IMPLEMENTED, "Transfer-Encoding '" + coding + "' is not supported; chunked is");
    }
    if (head.method().equals(HttpMethod.CONNECT)) { // what follows its answer would not be HTTP
      return new RequestGuard.Refusal(
          NOT_IMPLEMENTED, "method CONNECT is not supported: this server is no proxy");
    }
    int fields = head.headers().size();
    if (fields > RequestHead.MAX_FIELDS) {
      return new RequestGuard.Refusal(
          HttpResponseStatus.REQUEST_HEADER_FIELDS_TOO_LARGE.code(),
          "the request's head has %d fields, the limit is %d; send fewer"
              .formatted(fields, RequestHead.MAX_FIELDS));
    }
    return RequestHead.hasHost(head)
        ? null
        : new RequestGuard.Refusal(
            BAD_REQUEST,
            "the request's head is malformed: it has no Host, or one that no server has, or more than one");
  }

  private static int codeOf(Throwable malformed) {
    if (malformed instanceof TooLongHttpLineException) {
      return HttpResponseStatus.REQUEST_URI_TOO_LONG.code();
    }
    return malformed instanceof TooLongHttpHeaderException
        ? HttpResponseStatus.REQUEST_HEADER_FIELDS_TOO_LARGE.code()
        : BAD_REQUEST;
  }
}
