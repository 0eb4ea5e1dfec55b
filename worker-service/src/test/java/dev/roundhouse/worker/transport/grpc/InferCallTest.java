package dev.roundhouse.worker.transport.grpc;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import dev.roundhouse.engine.EngineOptions;
import dev.roundhouse.engine.request.Answer;
import dev.roundhouse.engine.request.AnswerSink;
import dev.roundhouse.engine.request.InferenceRequest;
import dev.roundhouse.engine.request.Outcome;
import dev.roundhouse.engine.request.OutputTensor;
import dev.roundhouse.engine.testing.Floats;
import dev.roundhouse.engine.testing.LiveEngine;
import dev.roundhouse.engine.testing.ReplySink.Reply;
import dev.roundhouse.engine.testing.TestBundle;
import dev.roundhouse.kserve.codec.EncodedMessage;
import dev.roundhouse.kserve.codec.MessageMemory;
import dev.roundhouse.kserve.codec.ReadMessage;
import dev.roundhouse.pjrt.MappedCopy;
import dev.roundhouse.platform.access.AccessProperties;
import dev.roundhouse.platform.access.JwtProperties;
import dev.roundhouse.transport.http2.BufferWritable;
import dev.roundhouse.worker.config.TraceProperties;
import dev.roundhouse.worker.trace.Tracing;
import dev.roundhouse.worker.transport.InferExchange;
import dev.roundhouse.worker.transport.Inference;
import dev.roundhouse.worker.transport.ReceiptOrigin;
import dev.roundhouse.worker.transport.Tenants;
import dev.roundhouse.worker.transport.shm.ClientRegions;
import dev.roundhouse.worker.transport.shm.CudaAccess;
import io.grpc.Status;
import io.grpc.stub.ServerCallStreamObserver;
import io.opentelemetry.api.trace.SpanContext;
import io.opentelemetry.api.trace.TraceFlags;
import io.opentelemetry.api.trace.TraceState;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Consumer;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.slf4j.LoggerFactory;
import org.springframework.util.unit.DataSize;

@Timeout(60)
class InferCallTest {
  /** Numbers of a row whose answer is not worth a copy. */
  private static final int WIDE = 1 << 14;

  @TempDir Path repository;

  private final LiveEngine engine = new LiveEngine(EngineOptions.builder().build());
  private final Call call = new Call();

  private final Logger logger = (Logger) LoggerFactory.getLogger(UnaryAnswer.class.getName());
  private final ListAppender<ILoggingEvent> logged =
      new ListAppender<>() {
        @Override
        protected void append(ILoggingEvent record) {
          record.getMDCPropertyMap(); // or it would be read on the test's thread
          super.append(record);
        }
      };

  @BeforeEach
  void keepTheLogToTheTest() {
    logger.setAdditive(false);
    logger.addAppender(logged);
    logged.start();
  }

  @BeforeEach
  void load() {
    engine.load(TestBundle.doubling(2, 1).write(repository, "m"));
  }

  @AfterEach
  void shouldLeaveNothing() {
    logger.detachAppender(logged);
    logger.setAdditive(true);
    engine.assertWell();
    engine.close();
  }

  @Test
  void shouldWriteTheAnswerAndCountItUntilTheCallIsClosed() {
    End end = submit(part -> part);
    assertThat(LiveEngine.get(end.told)).isEmpty();
    assertThat(call.written).isNotNull();
    assertThat(call.completed).isTrue();
    assertThat(engine.engine().heldBytes()).as("the client may not have read it").isPositive();
    call.close();
    assertThat(engine.engine().heldBytes()).isZero();
    call.close(); // cancelled as well: gRPC may call both handlers
    assertThat(engine.engine().heldBytes()).isZero();
  }

  @Test
  void shouldKeepALargeAnswerWhereItIsUntilNothingOfItIsSentAnyMore() {
    engine.load(TestBundle.doubling(WIDE, 1).write(repository, "wide"));
    List<String> freed = new CopyOnWriteArrayList<>();
    List<Runnable> lent = new ArrayList<>();
    call.sending =
        message ->
            new EncodedStream(message)
                .writeTo(
                    new BufferWritable.Sink() {
                      @Override
                      public void copy(ByteBuffer bytes) {
                        bytes.position(bytes.limit());
                      }

                      @Override
                      public void lend(ByteBuffer bytes, Runnable sent) {
                        assertThat(bytes.remaining()).isEqualTo(WIDE * Float.BYTES);
                        lent.add(sent);
                      }
                    });
    float[] row = new float[WIDE];
    End end = submit("wide", row, part -> new Noting(part, freed));
    assertThat(LiveEngine.get(end.told)).isEmpty();
    assertThat(lent).hasSize(1);
    assertThat(freed).isEmpty();
    call.close(); // as when its client resets a stream of which frames wait for the socket
    assertThat(freed).isEmpty();
    assertThat(engine.engine().heldBytes()).isPositive();
    lent.getFirst().run();
    assertThat(freed).containsExactly("close"); // which frees it
    assertThat(engine.engine().heldBytes()).isZero();
  }

  @Test
  void shouldEndTheCallWhenItsAnswerCannotBeEncoded() {
    for (Throwable thrown :
        List.of(new OutOfMemoryError("made by a test"), new IllegalStateException("secret"))) {
      End end = submit(part -> new Unreadable(part, thrown));
      assertThat(LiveEngine.get(end.told)).isEmpty();
      Status status = Status.fromThrowable(call.failure());
      assertThat(status.getCode()).isEqualTo(Status.Code.INTERNAL);
      assertThat(status.getDescription()).doesNotContain("secret", "made by a test");
      assertThat(logged.list).as("the server's log has the cause").isNotEmpty();
      logged.list.clear();
      call.close();
      assertThat(engine.engine().heldBytes()).isZero();
    }
  }

  @Test
  void shouldLogWhichRequestFailedAndItsTrace() {
    InferExchange exchange = exchange("m", "r17");
    exchange.calledIn(
        SpanContext.create(
            "0af7651916cd43dd8448eb211c80319c",
            "b7ad6b7169203331",
            TraceFlags.getDefault(),
            TraceState.getDefault()));
    InferCall infer = new InferCall(call, exchange);
    End end = new End(infer, part -> new Unreadable(part, new IllegalStateException("secret")));
    infer.submit(engine.engine(), request(end));
    assertThat(LiveEngine.get(end.told)).isEmpty();
    assertThat(logged.list.getFirst().getMDCPropertyMap())
        .containsOnly(
            Map.entry("request_id", "r17"),
            Map.entry("trace.id", "0af7651916cd43dd8448eb211c80319c"),
            Map.entry("span.id", "b7ad6b7169203331"));
    call.close();
  }

  @Test
  void shouldGiveTheMemoryBackWhenTheAnswerCannotBeWritten() {
    call.onWrite = new OutOfMemoryError("made by a test");
    End end = submit(part -> part);
    assertThat(LiveEngine.get(end.told)).containsSame(Objects.requireNonNull(call.onWrite));
    assertThat(call.completed).isFalse();
    call.close();
    assertThat(engine.engine().heldBytes()).isZero();
  }

  @Test
  void shouldNotEncodeForAClientThatHasGone() {
    End end =
        submit(
            part -> {
              call.cancelled = true;
              call.close();
              return new Unreadable(part, new AssertionError("nobody wants it"));
            });
    assertThat(LiveEngine.get(end.told)).isEmpty();
    assertThat(call.written).isNull();
    assertThat(call.failed).isNull();
    assertThat(engine.engine().heldBytes()).isZero();
  }

  @Test
  void shouldCancelTheRequestWhenItsClientGoesOrHasGoneBefore() {
    engine.runsTake(500_000_000);
    long before = engine.executions();
    CompletableFuture<Reply> running = engine.submit("m", 1, 2);
    LiveEngine.await("it runs", () -> engine.executions() > before);
    CompletableFuture<Outcome> leaves = submitWaiting(call);
    call.close();
    assertThat(LiveEngine.get(leaves)).isInstanceOf(Outcome.Cancelled.class);
    Call gone = new Call();
    gone.cancelled = true;
    assertThat(LiveEngine.get(submitWaiting(gone))).isInstanceOf(Outcome.Cancelled.class);
    assertThat(running).as("what both waited for").isNotDone();
    LiveEngine.assertCompleted(running);
  }

  /** Submits a call whose outcome is told to the test as well. */
  private CompletableFuture<Outcome> submitWaiting(Call of) {
    InferCall infer = new InferCall(of, exchange());
    CompletableFuture<Outcome> ended = new CompletableFuture<>();
    AnswerSink sink =
        new AnswerSink() {
          @Override
          public void onPart(Answer part) {
            infer.onPart(part);
          }

          @Override
          public void onEnd(Outcome outcome) {
            infer.onEnd(outcome);
            ended.complete(outcome);
          }
        };
    infer.submit(engine.engine(), request(sink));
    return ended;
  }

  private End submit(UnaryOperator<Answer> change) {
    return submit("m", new float[] {1, 2}, change);
  }

  private End submit(String model, float[] row, UnaryOperator<Answer> change) {
    InferCall infer = new InferCall(call, exchange(model));
    End end = new End(infer, change);
    infer.submit(
        engine.engine(),
        InferenceRequest.of(model, List.of(Floats.input("x", new long[] {1, row.length}, row)), end)
            .build());
    return end;
  }

  private InferExchange exchange() {
    return exchange("m");
  }

  private InferExchange exchange(String model) {
    return exchange(model, "");
  }

  private InferExchange exchange(String model, String id) {
    ClientRegions none =
        new ClientRegions(
            new ClientRegions.Settings(false, List.of(), 1), MappedCopy::copy, CudaAccess.NO_GPU);
    Tracing off =
        new Tracing(
            new TraceProperties(
                "",
                List.of(TraceProperties.Level.OFF),
                1000,
                -1,
                0,
                100,
                DataSize.ofGigabytes(1),
                DataSize.ofKilobytes(64)),
            engine.engine(),
            false);
    return new Inference(
            engine.engine(),
            none,
            off.tracer(),
            null,
            new ReceiptOrigin("here/1", "cpu:0 a device"),
            Tenants.of(
                Map.of(),
                new AccessProperties(
                    null,
                    null,
                    null,
                    null,
                    null,
                    null,
                    null,
                    null,
                    null,
                    JwtProperties.NONE,
                    Map.of(),
                    List.of()),
                ""),
            null,
            null)
        .begin(
            new ReadMessage(
                model, "", id, Map.of(), List.of(), List.of(), MessageMemory.COLLECTED));
  }

  private static InferenceRequest request(AnswerSink sink) {
    return InferenceRequest.of("m", List.of(Floats.input("x", new long[] {1, 2}, 1, 2)), sink)
        .build();
  }

  /** Between the engine and the call: changes the answer, and tells what the call has thrown. */
  private static final class End implements AnswerSink {
    final CompletableFuture<Optional<Throwable>> told = new CompletableFuture<>();
    private final InferCall call;
    private final UnaryOperator<Answer> change;

    End(InferCall call, UnaryOperator<Answer> change) {
      this.call = call;
      this.change = change;
    }

    @Override
    public void onPart(Answer part) {
      call.onPart(change.apply(part));
    }

    @Override
    public void onEnd(Outcome outcome) {
      try {
        call.onEnd(outcome);
        told.complete(Optional.empty());
      } catch (Throwable e) {
        told.complete(Optional.of(e));
      }
    }
  }

  /** An answer that notes when its memory is given back. */
  private record Noting(Answer answer, List<String> freed) implements Answer {
    @Override
    public String modelVersion() {
      return answer.modelVersion();
    }

    @Override
    public List<OutputTensor> outputs() {
      return answer.outputs();
    }

    @Override
    public void free() {
      freed.add("free");
      answer.free();
    }

    @Override
    public void close() {
      freed.add("close");
      answer.close();
    }
  }

  /** An answer of which something is thrown when it is to be read. */
  private record Unreadable(Answer answer, Throwable thrown) implements Answer {
    @Override
    public String modelVersion() {
      return answer.modelVersion();
    }

    @Override
    public List<OutputTensor> outputs() {
      switch (thrown) {
        case Error error -> throw error;
        case RuntimeException exception -> throw exception;
        default -> throw new AssertionError(thrown);
      }
    }

    @Override
    public void free() {
      answer.free();
    }

    @Override
    public void close() {
      answer.close();
    }
  }

  /** The server's side of a call, as gRPC gives it to a service. */
  private static final class Call extends ServerCallStreamObserver<EncodedMessage> {
    volatile boolean cancelled;
    volatile @Nullable Error onWrite;
    volatile Consumer<EncodedMessage> sending = message -> {};
    volatile @Nullable EncodedMessage written;
    volatile @Nullable Throwable failed;
    volatile boolean completed;
    private Runnable onCancel = () -> {};
    private Runnable onClose = () -> {};

    /** What gRPC calls when everything was sent, or the client has gone. */
    void close() {
      (cancelled ? onCancel : onClose).run();
    }

    Throwable failure() {
      return Objects.requireNonNull(failed);
    }

    @Override
    public boolean isCancelled() {
      return cancelled;
    }

    @Override
    public void setOnCancelHandler(Runnable handler) {
      onCancel = handler;
    }

    @Override
    public void setOnCloseHandler(Runnable handler) {
      onClose = handler;
    }

    @Override
    public void onNext(EncodedMessage message) {
      Error error = onWrite;
      if (error != null) {
        throw error;
      }
      written = message;
      sending.accept(message);
    }

    @Override
    public void onError(Throwable cause) {
      failed = cause;
    }

    @Override
    public void onCompleted() {
      completed = true;
    }

    @Override
    public boolean isReady() {
      return true;
    }

    @Override
    public void setCompression(String compression) {}

    @Override
    public void setOnReadyHandler(Runnable handler) {}

    @Override
    public void disableAutoInboundFlowControl() {}

    @Override
    public void request(int count) {}

    @Override
    public void setMessageCompression(boolean enable) {}
  }
}
