package dev.roundhouse.transport.forward;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.transport.access.CallerRights;
import dev.roundhouse.transport.http2.GrpcContract;
import dev.roundhouse.transport.http2.TestService;
import io.grpc.CallOptions;
import io.grpc.ClientCall;
import io.grpc.Context;
import io.grpc.Deadline;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.Server;
import io.grpc.ServerServiceDefinition;
import io.grpc.Status;
import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.ServerCalls;
import io.grpc.stub.StreamObserver;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.net.SocketAddress;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A call that is sent to a second server: one answer, and nothing left of the other. */
@Timeout(60)
class HedgedCallTest extends SentOn {
  private static final Metadata.Key<String> MINE =
      Metadata.Key.of("mine", Metadata.ASCII_STRING_MARSHALLER);

  private final Two router = new Two();
  private @Nullable Backend slow;
  private @Nullable Backend fast;

  @BeforeEach
  void start() throws Exception {
    slow = new Backend("slow");
    fast = new Backend("fast");
    startFront(router);
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 16_000, 300_000, 3_000_000})
  void shouldTakeTheAnswerOfTheSecondAndEndTheCallAtTheFirst(int bytes) throws Exception {
    byte[] message = new byte[bytes];
    Arrays.fill(message, (byte) 7);
    Called call = new Called(TestService.ECHO, message);
    Asked first = slow().next();
    Asked second = fast().next();
    assertThat(first.message).isEqualTo(message);
    assertThat(second.message).isEqualTo(message);
    assertThat(router.shown).containsExactly(message);
    second.answer();
    assertThat(call.end()).isEqualTo(Status.Code.OK);
    assertThat(call.answers).containsExactly(fast().answer(message));
    GrpcContract.await(() -> slow().cancelled.get() == 1);
    assertThat(router.ends).containsExactly("slow gave way CANCELLED", "fast ended OK");
    first.answer(); // nobody hears it
    assertThat(fast().cancelled).hasValue(0);
  }

  @Test
  void shouldTakeTheAnswerOfTheFirstWhenItComesFirst() throws Exception {
    Called call = new Called(TestService.ECHO, new byte[1_000]);
    Asked first = slow().next();
    fast().next();
    first.answer();
    assertThat(call.end()).isEqualTo(Status.Code.OK);
    assertThat(call.answers).containsExactly(slow().answer(new byte[1_000]));
    GrpcContract.await(() -> fast().cancelled.get() == 1);
    assertThat(router.ends).containsExactly("fast gave way CANCELLED", "slow ended OK");
  }

  @ParameterizedTest
  @ValueSource(strings = {"UNAVAILABLE", "NOT_FOUND", "RESOURCE_EXHAUSTED"})
  void shouldWaitForTheOtherWhenOneCannotAnswer(String code) throws Exception {
    for (boolean isFirst : List.of(true, false)) {
      router.ends.clear();
      Called call = new Called(TestService.ECHO, new byte[1_000]);
      Asked first = slow().next();
      Asked second = fast().next();
      (isFirst ? first : second).fail(Status.fromCode(Status.Code.valueOf(code)));
      GrpcContract.await(() -> router.ends.size() == 1);
      assertThat(call.isOver()).isFalse();
      (isFirst ? second : first).answer();
      assertThat(call.end()).isEqualTo(Status.Code.OK);
      assertThat(router.ends)
          .containsExactly(
              (isFirst ? "slow" : "fast") + " gave way " + code,
              (isFirst ? "fast" : "slow") + " ended OK");
    }
  }

  @Test
  void shouldWaitForTheOtherWhenOneIsGone() throws Exception {
    Called call = new Called(TestService.ECHO, new byte[1_000]);
    slow().next();
    Asked second = fast().next();
    slow().server.shutdownNow();
    GrpcContract.await(() -> router.ends.size() == 1);
    assertThat(router.ends).containsExactly("slow gave way UNAVAILABLE");
    second.answer();
    assertThat(call.end()).isEqualTo(Status.Code.OK);
  }

  @Test
  void shouldTellWhatBothHaveSaid() throws Exception {
    Called call = new Called(TestService.ECHO, new byte[1_000]);
    Asked first = slow().next();
    Asked second = fast().next();
    first.fail(Status.UNAVAILABLE);
    GrpcContract.await(() -> router.ends.size() == 1);
    second.fail(Status.UNAVAILABLE);
    assertThat(call.end()).isEqualTo(Status.Code.UNAVAILABLE);
    assertThat(router.ends).containsExactly("slow gave way UNAVAILABLE", "fast ended UNAVAILABLE");
  }

  @Test
  void shouldTakeARefusalOfTheRequestForAnAnswer() throws Exception {
    Called call = new Called(TestService.ECHO, new byte[1_000]);
    slow().next();
    fast().next().fail(Status.INVALID_ARGUMENT);
    assertThat(call.end()).isEqualTo(Status.Code.INVALID_ARGUMENT);
    GrpcContract.await(() -> slow().cancelled.get() == 1);
  }

  @Test
  void shouldSendACallToNobodyElseThatItsServerKeeps() throws Exception {
    Called call = new Called(TestService.ECHO, new byte[1_000]);
    Asked first = slow().next();
    fast().next();
    Metadata trailers = new Metadata();
    trailers.put(MINE, "true");
    first.call.onError(Status.UNAVAILABLE.asRuntimeException(trailers));
    assertThat(call.end()).isEqualTo(Status.Code.UNAVAILABLE);
    assertThat(call.trailers().get(MINE)).isEqualTo("true");
    GrpcContract.await(() -> fast().cancelled.get() == 1);

    router.hedges = false;
    router.follows = true;
    Called alone = new Called(TestService.ECHO, new byte[1_000]);
    slow().next().call.onError(Status.UNAVAILABLE.asRuntimeException(trailers));
    assertThat(alone.end()).isEqualTo(Status.Code.UNAVAILABLE);
    assertThat(alone.trailers().get(MINE)).isEqualTo("true");
    Called followed = new Called(TestService.ECHO, new byte[1_000]);
    slow().next().fail(Status.UNAVAILABLE);
    fast().next().answer();
    assertThat(followed.end()).as("without the mark").isEqualTo(Status.Code.OK);
  }

  @Test
  void shouldEndTheCallAtBothWhenItsClientDoes() throws Exception {
    Called call = new Called(TestService.ECHO, new byte[1_000]);
    slow().next();
    fast().next();
    call.call.cancel("the client has gone", null);
    GrpcContract.await(() -> slow().cancelled.get() == 1 && fast().cancelled.get() == 1);
    GrpcContract.await(() -> router.ends.size() == 2);
    assertThat(router.ends).containsExactly("fast gave way CANCELLED", "slow ended CANCELLED");
  }

  @Test
  void shouldGiveTheSecondTheTimeThatIsLeft() throws Exception {
    Called call =
        new Called(
            TestService.ECHO,
            new byte[1_000],
            CallOptions.DEFAULT.withDeadlineAfter(50, TimeUnit.SECONDS));
    Deadline first = Objects.requireNonNull(slow().next().deadline);
    Asked asked = fast().next();
    Deadline second = Objects.requireNonNull(asked.deadline);
    assertThat(second.timeRemaining(TimeUnit.MILLISECONDS))
        .isLessThanOrEqualTo(50_000)
        .isBetween(
            first.timeRemaining(TimeUnit.MILLISECONDS) - 20_000,
            first.timeRemaining(TimeUnit.MILLISECONDS) + 1_000);
    asked.answer();
    assertThat(call.end()).isEqualTo(Status.Code.OK);
  }

  @Test
  void shouldNotSendTwiceWhatIsNotHereAnyMoreOrIsCompressed() throws Exception {
    router.afterNanos = 0; // due before the first server can have answered
    Called large = new Called(TestService.ECHO, new byte[6 << 20]);
    slow().next().answer();
    assertThat(large.end()).isEqualTo(Status.Code.OK);
    Called compressed =
        new Called(TestService.ECHO, new byte[1_000], CallOptions.DEFAULT.withCompression("gzip"));
    slow().next().answer();
    assertThat(compressed.end()).isEqualTo(Status.Code.OK);
    assertThat(fast().asked).isEmpty();
    assertThat(router.shown).isEmpty();
  }

  @Test
  void shouldNotSendTwiceWhileMemoryIsScarce() throws Exception {
    router.afterNanos = 0;
    long taken = memory.limit(ForwardingBudget.Use.KEEP);
    assertThat(memory.take(taken)).isNull();
    Called call = new Called(TestService.ECHO, new byte[1_000]);
    slow().next().answer();
    assertThat(call.end()).isEqualTo(Status.Code.OK);
    assertThat(router.shown).isEmpty();
    memory.giveBack(taken);
  }

  // --- of this test

  private Backend slow() {
    return Objects.requireNonNull(slow);
  }

  private Backend fast() {
    return Objects.requireNonNull(fast);
  }

  /** A server that answers when it is told to. */
  private final class Backend {
    final String name;
    final Server server;
    final BlockingQueue<Asked> asked = new LinkedBlockingQueue<>();
    final AtomicInteger cancelled = new AtomicInteger();

    Backend(String name) throws IOException {
      this.name = name;
      server =
          serve(
              ServerServiceDefinition.builder("test.Test")
                  .addMethod(TestService.ECHO, ServerCalls.asyncUnaryCall(this::ask))
                  .build());
    }

    private void ask(byte[] message, StreamObserver<byte[]> call) {
      ((ServerCallStreamObserver<byte[]>) call).setOnCancelHandler(cancelled::incrementAndGet);
      asked.add(new Asked(this, message, call, Context.current().getDeadline()));
    }

    Asked next() throws InterruptedException {
      return Objects.requireNonNull(asked.poll(30, TimeUnit.SECONDS), name + " is not asked");
    }

    byte[] answer(byte[] message) {
      byte[] answer = Arrays.copyOf(message, message.length + 1);
      answer[message.length] = (byte) name.charAt(0);
      return answer;
    }
  }

  private record Asked(
      Backend by, byte[] message, StreamObserver<byte[]> call, @Nullable Deadline deadline) {
    void answer() {
      if (!((ServerCallStreamObserver<byte[]>) call).isCancelled()) {
        call.onNext(by.answer(message));
        call.onCompleted();
      }
    }

    void fail(Status status) {
      call.onError(status.asRuntimeException());
    }
  }

  /** A call under way. */
  private final class Called extends ClientCall.Listener<byte[]> {
    final List<byte[]> answers = new CopyOnWriteArrayList<>();
    final ClientCall<byte[], byte[]> call;
    private final CompletableFuture<Status> end = new CompletableFuture<>();
    private volatile Metadata trailers = new Metadata();

    Called(MethodDescriptor<byte[], byte[]> method, byte[] message) {
      this(method, message, CallOptions.DEFAULT);
    }

    Called(MethodDescriptor<byte[], byte[]> method, byte[] message, CallOptions options) {
      call = channel().newCall(method, options);
      call.start(this, new Metadata());
      call.request(2);
      call.sendMessage(message);
      call.halfClose();
    }

    boolean isOver() {
      return end.isDone();
    }

    Status.Code end() throws Exception {
      return end.get(30, TimeUnit.SECONDS).getCode();
    }

    Metadata trailers() {
      return trailers;
    }

    @Override
    public void onMessage(byte[] message) {
      answers.add(message);
    }

    @Override
    public void onClose(Status status, Metadata with) {
      trailers = with;
      end.complete(status);
    }
  }

  /** Sends calls to the slow server first. */
  private final class Two implements CallRouter {
    final List<String> ends = new CopyOnWriteArrayList<>();
    final List<byte[]> shown = new CopyOnWriteArrayList<>();
    volatile long afterNanos = 1_000_000;
    volatile boolean hedges = true;
    volatile boolean follows;

    @Override
    public boolean forwards(String method) {
      return true;
    }

    @Override
    public boolean unaryRequest(String method) {
      return true;
    }

    @Override
    public String keepsCall() {
      return MINE.name();
    }

    @Override
    public Route route(
        String method, @Nullable CallerRights caller, ByteBuffer begin, boolean more) {
      return new Way(slow());
    }

    private final class Way implements Route {
      private final Backend to;

      Way(Backend to) {
        this.to = to;
        openRoutes.incrementAndGet();
      }

      @Override
      public SocketAddress address() {
        return SentOn.address(to.server);
      }

      @Override
      public @Nullable Route other(Status status) {
        if (!follows || status.getCode() != Status.Code.UNAVAILABLE || to == fast()) {
          return null;
        }
        openRoutes.decrementAndGet();
        return new Way(fast());
      }

      @Override
      public long hedgeAfterNanos() {
        return hedges ? afterNanos : NEVER;
      }

      @Override
      public Route hedge(InputStream message) {
        try {
          shown.add(message.readAllBytes());
        } catch (IOException e) {
          throw new UncheckedIOException(e);
        }
        return new Way(fast());
      }

      @Override
      public void superseded(Status status) {
        openRoutes.decrementAndGet();
        ends.add(to.name + " gave way " + status.getCode());
      }

      @Override
      public void ended(Status status) {
        openRoutes.decrementAndGet();
        ends.add(to.name + " ended " + status.getCode());
      }
    }
  }
}
