package dev.roundhouse.transport.forward;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.roundhouse.transport.access.CallerRights;
import dev.roundhouse.transport.http2.GrpcContract;
import dev.roundhouse.transport.http2.Http2ServerBuilder;
import dev.roundhouse.transport.http2.RawClient;
import dev.roundhouse.transport.http2.TestService;
import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.ClientInterceptors;
import io.grpc.Deadline;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.Server;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.ServerInterceptor;
import io.grpc.ServerInterceptors;
import io.grpc.ServerServiceDefinition;
import io.grpc.Status;
import io.grpc.StatusException;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.ClientCalls;
import io.grpc.stub.MetadataUtils;
import io.grpc.stub.ServerCalls;
import io.grpc.stub.StreamObserver;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketAddress;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import java.util.Objects;
import java.util.Queue;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Where calls are sent on to, by what they begin with, and what becomes of those that fail. */
@Timeout(60)
class ForwardingTest extends SentOn {
  private static final int NAME_BYTES = 4;
  private static final Metadata.Key<String> CALLER =
      Metadata.Key.of("test-caller", Metadata.ASCII_STRING_MARSHALLER);

  private final TestService service = new TestService();
  private final Names names = new Names();

  @BeforeEach
  void start() throws Exception {
    names.add("good", address(serve(service.definition())));
    names.add("busy", address(serve(failing(Status.UNAVAILABLE.withDescription("busy")))));
    names.add("gone", address(serve(failing(Status.NOT_FOUND))));
    names.add("over", address(serve(breaking())));
    names.add("down", closedPort());
    startFront(names);
  }

  // --- which server

  @ParameterizedTest
  @ValueSource(ints = {0, 1, 16_000, 70_000, 3_000_000})
  void shouldSendACallWhereItsFirstMessageSays(int bytes) {
    byte[] message = message("good", bytes);
    assertThat(call(TestService.ECHO, message)).isEqualTo(message);
    assertThat(names.ends).containsExactly("good OK");
  }

  @Test
  void shouldReadTheBeginningOfACompressedMessage() {
    byte[] message = message("good", 500_000);
    byte[] noise = new byte[400_000];
    new Random(5).nextBytes(noise);
    System.arraycopy(noise, 0, message, 100, noise.length); // so that it does not fit into a frame
    assertThat(
            ClientCalls.blockingUnaryCall(
                channel(), TestService.ECHO, CallOptions.DEFAULT.withCompression("gzip"), message))
        .isEqualTo(message);
  }

  @Test
  void shouldWaitForTheRestOfWhatItNeeds() {
    names.needs = 40_000; // more than two frames
    byte[] message = message("good", 50_000);
    assertThat(call(TestService.ECHO, message)).isEqualTo(message);
    assertThat(names.asked.get()).as("once for each frame").isBetween(2, 10);
    byte[] small = message("good", 10);
    assertThat(call(TestService.ECHO, small)).as("there is no more of it").isEqualTo(small);
  }

  @Test
  void shouldSendACallThatBeginsWithNothing() throws Exception {
    try (RawClient client = new RawClient(servers.getLast().getPort()).settings()) {
      client.frame(RawClient.HEADERS, RawClient.END_HEADERS, 1, RawClient.call("Echo"));
      client.frame(RawClient.DATA, 0, 1, new byte[0]);
      client.frame(RawClient.DATA, 0, 1, new byte[0]);
      byte[] message = message("good", 100);
      byte[] framed = RawClient.message(message.length);
      System.arraycopy(message, 0, framed, framed.length - message.length, message.length);
      client.frame(RawClient.DATA, 0, 1, Arrays.copyOf(framed, 3));
      client.frame(RawClient.DATA, 0, 1, new byte[0]);
      client.frame(
          RawClient.DATA, RawClient.END_STREAM, 1, Arrays.copyOfRange(framed, 3, framed.length));
      assertThat(client.awaitEnd(1).status()).isEqualTo(Status.Code.OK);
    }
  }

  @Test
  void shouldTellWhyThereIsNoWay() {
    assertThat(statusOf(() -> call(TestService.ECHO, message("none", 10))))
        .satisfies(
            status -> {
              assertThat(status.getCode()).isEqualTo(Status.Code.NOT_FOUND);
              assertThat(status.getDescription()).isEqualTo("there is no 'none'");
            });
    assertThat(names.ends).isEmpty();
  }

  @Test
  void shouldRefuseAMessageThatIsTooLargeItself() {
    Status status = statusOf(() -> call(TestService.ECHO, message("good", 9 << 20)));
    assertThat(status.getCode()).isEqualTo(Status.Code.RESOURCE_EXHAUSTED);
    assertThat(status.getDescription())
        .isEqualTo("gRPC message exceeds maximum size 8388608: 9437188");
    assertThat(names.asked).hasValue(0);
  }

  @Test
  void shouldTellWhoseCallItIsWhateverTheClientSays() throws Exception {
    Queue<List<String>> told = new ConcurrentLinkedQueue<>();
    names.add("hear", address(serve(hearing(told))));
    Metadata forged = new Metadata();
    forged.put(CALLER, "forged");
    Channel forging =
        ClientInterceptors.intercept(channel(), MetadataUtils.newAttachHeadersInterceptor(forged));
    byte[] message = message("hear", 10);
    ClientCalls.blockingUnaryCall(forging, TestService.ECHO, CallOptions.DEFAULT, message);
    call(TestService.ECHO, message);
    assertThat(told).hasSize(2);
    assertThat(told.peek()).singleElement().asString().matches("[1-9][0-9]*");
    assertThat(Set.copyOf(told)).as("it is the same client").hasSize(1);
  }

  private ServerServiceDefinition hearing(Queue<List<String>> told) {
    return ServerInterceptors.intercept(
        service.definition(),
        new ServerInterceptor() {
          @Override
          public <Q, R> ServerCall.Listener<Q> interceptCall(
              ServerCall<Q, R> call, Metadata headers, ServerCallHandler<Q, R> next) {
            List<String> values = new ArrayList<>();
            Iterable<String> sent = headers.getAll(CALLER);
            if (sent != null) {
              sent.forEach(values::add);
            }
            told.add(values);
            return next.startCall(call, headers);
          }
        });
  }

  // --- servers that do not answer

  @ParameterizedTest
  @ValueSource(strings = {"busy", "gone", "down"})
  void shouldAskAnotherServerWithTheSameRequest(String first) {
    names.then("good");
    byte[] message = message(first, 200_000);
    assertThat(call(TestService.ECHO, message)).isEqualTo(message);
    assertThat(names.ends).containsExactly("good OK");
  }

  @Test
  void shouldTellWhatTheLastServerSaid() {
    names.then("down", "busy");
    Status status = statusOf(() -> call(TestService.ECHO, message("gone", 10)));
    assertThat(status.getCode()).isEqualTo(Status.Code.UNAVAILABLE);
    assertThat(status.getDescription()).isEqualTo("busy");
    assertThat(names.ends).containsExactly("busy UNAVAILABLE");
  }

  @Test
  void shouldTellRouteAndClientAServersTextAsItWroteIt() throws Exception {
    String text = "100 % of 'größer'\nis taken";
    names.add("full", address(serve(failing(Status.UNAVAILABLE.withDescription(text)))));
    assertThat(statusOf(() -> call(TestService.ECHO, message("full", 10))).getDescription())
        .isEqualTo(text);
    assertThat(names.texts).containsExactly(text);
  }

  @Test
  void shouldSayThatAServerCannotBeReached() {
    Status status = statusOf(() -> call(TestService.ECHO, message("down", 10)));
    assertThat(status.getCode()).isEqualTo(Status.Code.UNAVAILABLE);
    assertThat(status.getDescription()).contains("cannot be reached");
  }

  @Test
  void shouldNotAskAnotherOnceSomethingWasAnswered() {
    names.then("good");
    Iterator<byte[]> answers =
        ClientCalls.blockingServerStreamingCall(
            channel(), TestService.FLOOD, CallOptions.DEFAULT, message("over", 10));
    assertThat(answers.next()).hasSize(3);
    assertThat(statusOf(answers::next).getCode()).isEqualTo(Status.Code.UNAVAILABLE);
    assertThat(names.ends).containsExactly("over UNAVAILABLE");
  }

  @Test
  void shouldNotAskAnotherWithALargerRequestThanItKeeps() {
    names.then("good");
    Status status = statusOf(() -> call(TestService.ECHO, message("busy", 6 << 20)));
    assertThat(status.getDescription()).isEqualTo("busy");
  }

  @Test
  void shouldSayThatAServerHasGoneInTheMiddleOfACall() throws Exception {
    CompletableFuture<Status> end = startWaiting();
    servers.getFirst().shutdownNow();
    assertThat(end.get(20, TimeUnit.SECONDS).getCode()).isEqualTo(Status.Code.UNAVAILABLE);
  }

  /** Most of the request waits for the server's window then. */
  @Test
  void shouldSayThatAServerHasGoneThatTookAPartOfARequest() throws Exception {
    CompletableFuture<Status> end = new CompletableFuture<>();
    try (ServerSocket slow = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      names.add("part", slow.getLocalSocketAddress());
      ClientCalls.asyncUnaryCall(
          channel().newCall(TestService.ECHO, CallOptions.DEFAULT),
          message("part", 300_000),
          new Ending(end));
      try (Socket taken = slow.accept()) {
        byte[] settings = {0, 0, 0, 4, 0, 0, 0, 0, 0}; // a window of 65,535 bytes
        taken.getOutputStream().write(settings);
        assertThat(taken.getInputStream().readNBytes(65_535)).hasSize(65_535);
      }
    }
    Status status = end.get(20, TimeUnit.SECONDS);
    assertThat(status.getCode()).as(status.toString()).isEqualTo(Status.Code.UNAVAILABLE);
    assertThat(status.getDescription()).containsAnyOf("has closed the connection", "is lost");
  }

  @Test
  void shouldUseANewConnectionWhenAServerIsBack() throws Exception {
    call(TestService.ECHO, message("good", 10));
    Server first = servers.getFirst();
    int port = first.getPort();
    first.shutdownNow().awaitTermination(10, TimeUnit.SECONDS);
    assertThat(statusOf(() -> call(TestService.ECHO, message("good", 10))).getCode())
        .isEqualTo(Status.Code.UNAVAILABLE);
    servers.add(
        Http2ServerBuilder.forAddress(new InetSocketAddress("127.0.0.1", port))
            .addService(service.definition())
            .build()
            .start());
    assertThat(call(TestService.ECHO, message("good", 10))).hasSize(14);
  }

  // --- clients that do not wait

  @Test
  void shouldTellTheServerHowMuchTimeIsLeft() {
    ClientCalls.blockingUnaryCall(
        channel(),
        TestService.ECHO,
        CallOptions.DEFAULT.withDeadlineAfter(700, TimeUnit.MILLISECONDS),
        message("good", 10));
    Deadline told = Objects.requireNonNull(service.lastDeadline);
    assertThat(told.timeRemaining(TimeUnit.MILLISECONDS))
        .as("not rounded to whole seconds")
        .isLessThan(700);
  }

  @Test
  void shouldEndACallAtItsDeadlineAndTellTheServer() {
    Status status =
        statusOf(
            () ->
                ClientCalls.blockingUnaryCall(
                    channel(),
                    TestService.WAIT,
                    CallOptions.DEFAULT.withDeadlineAfter(300, TimeUnit.MILLISECONDS),
                    message("good", 10)));
    assertThat(status.getCode()).isEqualTo(Status.Code.DEADLINE_EXCEEDED);
    GrpcContract.await(() -> service.cancelled.get() == 1);
    GrpcContract.await(() -> names.ends.size() == 1);
    assertThat(names.ends.getFirst()).isIn("good DEADLINE_EXCEEDED", "good CANCELLED");
  }

  @Test
  void shouldTellTheServerThatTheClientIsGone() throws Exception {
    startWaiting();
    channel().shutdownNow();
    GrpcContract.await(() -> service.cancelled.get() == 1);
    GrpcContract.await(() -> names.ends.size() == 1);
  }

  // --- of this test

  /** A call that has arrived and is not answered. */
  private CompletableFuture<Status> startWaiting() throws InterruptedException {
    CompletableFuture<Status> end = new CompletableFuture<>();
    ClientCalls.asyncUnaryCall(
        channel().newCall(TestService.WAIT, CallOptions.DEFAULT),
        message("good", 10),
        new Ending(end));
    service.arrived.await();
    return end;
  }

  private byte[] call(MethodDescriptor<byte[], byte[]> method, byte[] message) {
    return ClientCalls.blockingUnaryCall(channel(), method, CallOptions.DEFAULT, message);
  }

  private static SocketAddress closedPort() throws Exception {
    try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      return socket.getLocalSocketAddress();
    }
  }

  private static ServerServiceDefinition failing(Status status) {
    return ServerServiceDefinition.builder("test.Test")
        .addMethod(
            TestService.ECHO,
            ServerCalls.asyncUnaryCall((message, out) -> out.onError(status.asRuntimeException())))
        .build();
  }

  /** Answers with a message, and then that it is unavailable. */
  private static ServerServiceDefinition breaking() {
    return ServerServiceDefinition.builder("test.Test")
        .addMethod(
            TestService.FLOOD,
            ServerCalls.asyncServerStreamingCall(
                (message, out) -> {
                  out.onNext(new byte[3]);
                  out.onError(Status.UNAVAILABLE.asRuntimeException());
                }))
        .build();
  }

  /** A message for a server, with so many bytes behind its name. */
  private static byte[] message(String name, int bytes) {
    return Arrays.copyOf(name.getBytes(StandardCharsets.US_ASCII), NAME_BYTES + bytes);
  }

  private static Status statusOf(Runnable call) {
    return catchThrowableOfType(StatusRuntimeException.class, call::run).getStatus();
  }

  private record Ending(CompletableFuture<Status> end) implements StreamObserver<byte[]> {
    @Override
    public void onNext(byte[] message) {}

    @Override
    public void onError(Throwable failure) {
      end.complete(Status.fromThrowable(failure));
    }

    @Override
    public void onCompleted() {
      end.complete(Status.OK);
    }
  }

  /** A message begins with the name of the server that it is for. */
  private final class Names implements CallRouter {
    private final List<Named> known = new CopyOnWriteArrayList<>();
    private final List<String> ends = new CopyOnWriteArrayList<>();

    /** Of statuses that were no success. */
    private final List<String> texts = new CopyOnWriteArrayList<>();

    private final AtomicInteger asked = new AtomicInteger();
    private volatile List<String> others = List.of();
    private volatile int needs = NAME_BYTES;

    private record Named(String name, SocketAddress address) {}

    void add(String name, SocketAddress address) {
      known.add(new Named(name, address));
    }

    /** Who is asked after the first. */
    void then(String... names) {
      others = List.of(names);
    }

    @Override
    public boolean forwards(String method) {
      return method.startsWith("test.Test/");
    }

    @Override
    public boolean unaryRequest(String method) {
      return method.endsWith("/Echo") || method.endsWith("/Wait");
    }

    @Override
    public @Nullable Route route(
        String method, @Nullable CallerRights caller, ByteBuffer begin, boolean more)
        throws StatusException {
      asked.incrementAndGet();
      if (begin.remaining() < needs && more) {
        return null;
      }
      byte[] name = new byte[NAME_BYTES];
      begin.get(begin.position(), name);
      return way(new String(name, StandardCharsets.US_ASCII), 0);
    }

    @Override
    public String callerHeader() {
      return CALLER.name();
    }

    private Route way(String name, int next) throws StatusException {
      for (Named each : known) {
        if (each.name().equals(name)) {
          openRoutes.incrementAndGet();
          return new Way(each, next);
        }
      }
      throw Status.NOT_FOUND.withDescription("there is no '" + name + "'").asException();
    }

    private final class Way implements Route {
      private final Named to;
      private final int next;

      Way(Named to, int next) {
        this.to = to;
        this.next = next;
      }

      @Override
      public SocketAddress address() {
        return to.address();
      }

      @Override
      public @Nullable Route other(Status status) {
        boolean safe =
            status.getCode() == Status.Code.UNAVAILABLE
                || status.getCode() == Status.Code.NOT_FOUND;
        if (!safe || next >= others.size()) {
          return null;
        }
        try {
          Route other = way(others.get(next), next + 1);
          openRoutes.decrementAndGet();
          return other;
        } catch (StatusException e) {
          return null;
        }
      }

      @Override
      public void ended(Status status) {
        openRoutes.decrementAndGet();
        ends.add(to.name() + " " + status.getCode());
        if (status.getDescription() != null) {
          texts.add(status.getDescription());
        }
      }
    }
  }
}
