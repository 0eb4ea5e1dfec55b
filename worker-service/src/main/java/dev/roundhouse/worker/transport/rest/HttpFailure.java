package dev.roundhouse.worker.transport.rest;

import dev.roundhouse.kserve.status.WireException;
import dev.roundhouse.kserve.status.WireStatus;
import dev.roundhouse.platform.logging.RequestIds;
import dev.roundhouse.platform.rest.JsonReply;
import dev.roundhouse.platform.text.ClientText;
import dev.roundhouse.transport.http1.Reply;
import dev.roundhouse.worker.transport.rest.ContentCoding.UnknownCodingException;
import java.io.IOException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.http.HttpHeaders;
import org.springframework.http.MediaType;

/** How an inference that has no answer is told, by the worker's own HTTP server. */
final class HttpFailure {
  private static final Logger log = LoggerFactory.getLogger(HttpFailure.class);

  private HttpFailure() {}

  /**
   * Ends a reply.
   *
   * @param id of the request, for the log
   * @param over run when the reply has left or never will
   */
  static void tell(Reply reply, ClientText texts, String id, Throwable failure, Runnable over) {
    if (!(failure instanceof WireException)
        && !(failure instanceof UnknownCodingException)
        && !(failure instanceof IOException)) {
      RequestIds.with(id, () -> log.error("a request failed unexpectedly", failure));
    }
    if (reply.hasBegun()) {
      reply.abort(over); // so that nobody takes a part for the whole
      return;
    }
    reply.reset();
    try {
      write(reply, texts, failure);
    } catch (IOException e) {
      reply.abort(over);
      return;
    }
    reply.end(over);
  }

  private static void write(Reply reply, ClientText texts, Throwable failure) throws IOException {
    WireException told =
        switch (failure) {
          case WireException refusal -> refusal;
          case UnknownCodingException unknown -> {
            reply.header(HttpHeaders.ACCEPT_ENCODING, ContentCoding.SUPPORTED);
            yield new WireException(WireStatus.UNIMPLEMENTED, String.valueOf(unknown.getMessage()));
          }
          case IOException unreadable ->
              WireException.invalidArgument("the request's body could not be read");
          default ->
              new WireException(WireStatus.INTERNAL, "Internal server error; see the server's log");
        };
    told.besides(reply::header);
    reply.status(told.status().httpCode());
    reply.header(HttpHeaders.CONTENT_TYPE, MediaType.APPLICATION_JSON_VALUE);
    reply.body().write(JsonReply.error(texts.of(told.text())));
  }
}
