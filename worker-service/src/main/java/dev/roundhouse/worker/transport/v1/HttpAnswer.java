package dev.roundhouse.worker.transport.v1;

import dev.roundhouse.engine.request.Answer;
import dev.roundhouse.engine.request.AnswerSink;
import dev.roundhouse.engine.request.Outcome;
import dev.roundhouse.kserve.v1.HeaderText;
import dev.roundhouse.kserve.v1.proto.InferResponseHeader;
import dev.roundhouse.platform.rest.ErrorForm;
import dev.roundhouse.platform.rest.HttpFailure;
import dev.roundhouse.platform.rest.MemoryHold;
import dev.roundhouse.transport.http1.Reply;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import org.jspecify.annotations.Nullable;
import org.springframework.http.HttpHeaders;
import org.springframework.http.MediaType;

/**
 * The answer to one inference over HTTP: tensors one behind the other, and behind them the answer's
 * header once more, whole. Written on the connection's event loop, tensors in place; on a virtual
 * thread when something is copied to shared memory, or classes are many.
 */
final class HttpAnswer implements AnswerSink {
  /** Of {@code NV-InferResponse}; clients refuse long headers. */
  private static final int MOST_HEADER_BYTES = 16 << 10;

  /** Of a header in memory for each byte in binary form: the message, and its text twice. */
  private static final int GROWTH = 16;

  private final V1Exchange exchange;
  private final boolean isBinary;
  private final V1Routes routes;
  private final Reply reply;
  private final MemoryHold request;
  private final MemoryHold memory;
  private @Nullable Answer answer;

  /**
   * @param exchange closed when the answer has been sent, or never will be; as is all memory
   * @param isBinary whether the header behind the tensors is
   * @param request what is held of the request
   * @param memory for what of the answer is written in one piece
   */
  HttpAnswer(
      V1Exchange exchange,
      boolean isBinary,
      V1Routes routes,
      Reply reply,
      MemoryHold request,
      MemoryHold memory) {
    this.exchange = exchange;
    this.isBinary = isBinary;
    this.routes = routes;
    this.reply = reply;
    this.request = request;
    this.memory = memory;
  }

  @Override
  public String onManyParts() {
    return V1Exchange.MANY_PARTS;
  }

  @Override
  public void onPart(Answer part) {
    answer = part;
  }

  @Override
  public void onEnd(Outcome outcome) {
    if (answer != null && (exchange.v2().writesShared() || exchange.answers().hasClasses())) {
      Thread.ofVirtual().name("v1-write").start(() -> tell(outcome));
    } else {
      reply.execute(() -> tell(outcome));
    }
  }

  private void tell(Outcome outcome) {
    try {
      write(exchange.answer(answer, outcome));
    } catch (IOException | RuntimeException | Error e) { // an Error too: the client would wait
      HttpFailure.tell(reply, routes.texts(), exchange.v2().about(), e, ErrorForm.V1, this::close);
      return;
    }
    reply.end(this::close);
  }

  private void write(AnswerMapper.Mapped mapped) throws IOException {
    memory.take((long) GROWTH * mapped.header().getSerializedSize());
    byte[] whole =
        isBinary
            ? mapped.header().toByteArray()
            : HeaderText.of(mapped.header()).getBytes(StandardCharsets.UTF_8);
    reply.header(HeaderText.RESPONSE, brief(mapped.header()));
    reply.header(HeaderText.STATUS, HeaderText.of(routes.statuses().success()));
    reply.header(HttpHeaders.CONTENT_TYPE, MediaType.APPLICATION_OCTET_STREAM_VALUE);
    long length = whole.length;
    for (ByteBuffer raw : mapped.raw()) {
      length += raw.remaining();
    }
    reply.length(length);
    for (ByteBuffer raw : mapped.raw()) {
      reply.lend(raw);
    }
    reply.body().write(whole);
  }

  /**
   * What tells tensors in the body apart; with classes too while those are few. Without types: the
   * client on PyPI refuses a text with a field that is younger than itself, and others have them
   * from the header behind the tensors.
   */
  private static String brief(InferResponseHeader header) {
    InferResponseHeader.Builder brief = header.toBuilder();
    brief.getOutputBuilderList().forEach(InferResponseHeader.Output.Builder::clearDataType);
    String text = HeaderText.of(brief.build());
    if (text.length() <= MOST_HEADER_BYTES) {
      return text;
    }
    brief.getOutputBuilderList().forEach(InferResponseHeader.Output.Builder::clearBatchClasses);
    return HeaderText.of(brief.build());
  }

  private void close() {
    exchange.close();
    request.close();
    memory.close();
    Answer part = answer;
    if (part != null) {
      part.close();
    }
  }
}
