package dev.roundhouse.platform.rest;

import dev.roundhouse.kserve.status.WireException;
import dev.roundhouse.kserve.status.WireStatus;
import dev.roundhouse.platform.logging.AboutRequest;
import dev.roundhouse.platform.rest.ContentCoding.UnknownCodingException;
import dev.roundhouse.platform.text.ClientText;
import dev.roundhouse.transport.http1.Reply;
import io.grpc.Metadata;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import java.io.IOException;
import java.util.List;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.http.HttpHeaders;
import org.springframework.http.MediaType;

/** Reports why a request has no answer. */
public final class HttpFailure {
  private static final Logger log = LoggerFactory.getLogger(HttpFailure.class);
  private static final List<Metadata.Key<String>> BESIDES =
      Stream.of(WireException.BEGAN, WireException.ABOUT)
          .map(name -> Metadata.Key.of(name, Metadata.ASCII_STRING_MARSHALLER))
          .toList();

  private HttpFailure() {}

  /**
   * Ends a reply.
   *
   * @param about the request, for the log
   * @param over run when the reply has been sent or never will be
   * @return HTTP's code
   */
  public static int tell(
      Reply reply, ClientText texts, AboutRequest about, Throwable failure, Runnable over) {
    return tell(reply, texts, about, failure, ErrorForm.PROTOCOL, over);
  }

  /** As {@link #tell(Reply, ClientText, AboutRequest, Throwable, Runnable)}, in another form. */
  public static int tell(
      Reply reply,
      ClientText texts,
      AboutRequest about,
      Throwable failure,
      ErrorForm form,
      Runnable over) {
    if (!(failure instanceof WireException)
        && !(failure instanceof StatusRuntimeException)
        && !(failure instanceof UnknownCodingException)
        && !(failure instanceof IOException)) {
      about.log(() -> log.error("a request failed unexpectedly", failure));
    }
    if (reply.hasBegun()) {
      reply.abort(over); // a part must not be taken for the whole
      return WireStatus.INTERNAL.httpCode();
    }
    reply.reset();
    int code;
    int grpcCode;
    String text;
    if (failure instanceof StatusRuntimeException call) {
      Status status = call.getStatus();
      grpcCode = status.getCode().value();
      code = WireStatus.httpCode(grpcCode);
      text = status.getDescription() == null ? status.getCode().name() : status.getDescription();
      besides(reply, call.getTrailers());
    } else {
      WireException told = told(reply, failure);
      told.besides(reply::header);
      grpcCode = told.status().grpcCode();
      code = told.status().httpCode();
      text = told.text();
    }
    text = texts.of(text);
    reply.status(code);
    form.addHeaders(reply, grpcCode, text);
    reply.header(HttpHeaders.CONTENT_TYPE, MediaType.APPLICATION_JSON_VALUE);
    try {
      reply.body().write(form.json(code, text));
    } catch (IOException e) {
      reply.abort(over);
      return code;
    }
    reply.end(over);
    return code;
  }

  /** Copies details of the status to the reply. */
  private static void besides(Reply reply, @Nullable Metadata trailers) {
    for (Metadata.Key<String> key : BESIDES) {
      String value = trailers == null ? null : trailers.get(key);
      if (value != null) {
        reply.header(key.originalName(), value);
      }
    }
  }

  private static WireException told(Reply reply, Throwable failure) {
    return switch (failure) {
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
  }
}
