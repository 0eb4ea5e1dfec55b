package dev.roundhouse.gateway;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.params.provider.Arguments.arguments;

import dev.roundhouse.gateway.FakeStreams.Behaviour;
import dev.roundhouse.gateway.fleet.WorkerView;
import dev.roundhouse.gateway.stream.StreamCounts.End;
import dev.roundhouse.kserve.tstream.HelloStatus;
import dev.roundhouse.kserve.tstream.ServerReply;
import io.netty.channel.unix.DomainSocketAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;

/** Which worker takes a stream, and who is asked next. */
@Timeout(180)
class GatewayStreamWorkersTest extends StreamsThroughGateway {
  private static ServerReply refusing(HelloStatus status) {
    return new ServerReply(1, status, Set.of(), 250, 0, null, "as the worker says");
  }

  @ParameterizedTest
  @EnumSource(names = {"NO_SUCH_MODEL", "NOT_READY", "OVERLOADED"})
  void shouldAskAnotherWorkerWhereOneRefuses(HelloStatus status) throws Exception {
    s0.replies = hello -> refusing(status);
    for (int i = 0; i < 2; i++) { // whoever is asked first
      try (Line client = connect()) {
        assertThat(client.greet(hello("both"))).isEqualTo(agreed(hello("both")));
        s1.next().close();
      }
    }
    assertThat(s0.hellos).isNotEmpty();
  }

  @ParameterizedTest
  @EnumSource(names = {"NO_SUCH_MODEL", "NOT_READY", "OVERLOADED"})
  void shouldPassOnTheLastReplyWhereAllRefuse(HelloStatus status) throws Exception {
    s0.replies = hello -> refusing(status);
    s1.replies = s0.replies;
    long before = counts().refusedEver(status);
    try (Line client = connect()) {
      assertThat(client.greet(hello("both"))).isEqualTo(refusing(status));
      assertThat(client.isOver()).isTrue();
    }
    assertThat(s0.hellos).hasSize(1);
    assertThat(s1.hellos).hasSize(1);
    assertThat(counts().refusedEver(status)).isEqualTo(before + 1);
  }

  @ParameterizedTest
  @EnumSource(names = {"OTHER_SPEC", "NOT_FIXED", "UNAUTHORISED", "BAD_HELLO"})
  void shouldPassOnWhatEveryWorkerWouldRefuse(HelloStatus status) throws Exception {
    ServerReply reply = new ServerReply(1, status, Set.of(), 0, 0, PAIR, "the first difference");
    s0.replies = hello -> reply;
    s1.replies = s0.replies;
    try (Line client = connect()) {
      assertThat(client.greet(hello("both"))).isEqualTo(reply);
      assertThat(client.isOver()).isTrue();
    }
    assertThat(s0.hellos.size() + s1.hellos.size()).isEqualTo(1);
  }

  @Test
  void shouldAskAnotherWorkerWhereOneDoesNotReply() throws Exception {
    s0.replies = hello -> null;
    for (int i = 0; i < 2 || s0.hellos.isEmpty(); i++) { // it may be left alone at first
      try (Line client = connect()) {
        assertThat(client.greet(hello("both")).status()).isEqualTo(HelloStatus.OK);
        s1.next().close();
      }
    }
    try (Line client = connect()) {
      ServerReply reply = client.greet(hello("left"));
      assertThat(reply.status()).isEqualTo(HelloStatus.NOT_READY);
      assertThat(reply.text()).isEqualTo("worker 'w0' has not replied to a hello within 5000 ms");
    }
  }

  /** What a worker may do once it has been greeted, and what is then told of it. */
  static Stream<Arguments> noReplies() {
    byte[] reply = agreed(hello("left")).encoded();
    return Stream.of(
        arguments("worker 'w0' has closed the connection", (Behaviour) Line::close),
        arguments("worker 'w0' is lost: ", (Behaviour) Line::abort),
        arguments(
            "worker 'w0' has closed the connection",
            (Behaviour) line -> line.send(Arrays.copyOf(reply, 20)).close()),
        arguments(
            "what worker 'w0' has replied is not TSTREAM: ",
            (Behaviour)
                line ->
                    line.send("HTTP/1.1 400 Bad Request\r\n\r\n".repeat(4).getBytes(US_ASCII))));
  }

  @ParameterizedTest
  @MethodSource("noReplies")
  void shouldAskAnotherWorkerWhereOneGoesAwayBeforeItsReply(String text, Behaviour does)
      throws Exception {
    s0.instead = does;
    for (int i = 0; i < 2 || s0.hellos.isEmpty(); i++) { // whoever is asked first
      try (Line client = connect()) {
        client.send(hello("both").encoded()).send(new byte[] {1, 2, 3});
        assertThat(client.reply().status()).isEqualTo(HelloStatus.OK);
        try (Line at = s1.next()) {
          assertThat(at.read(3)).as("what came meanwhile").containsExactly(1, 2, 3);
        }
      }
    }
    try (Line client = connect()) {
      ServerReply reply = client.greet(hello("left"));
      assertThat(reply.status()).isEqualTo(HelloStatus.NOT_READY);
      assertThat(reply.text()).startsWith(text);
      assertThat(client.isOver()).isTrue();
    }
  }

  @Test
  void shouldLetAWorkerGoWhoseClientGoesAwayWhileItIsAsked() throws Exception {
    CompletableFuture<Line> asked = new CompletableFuture<>();
    s0.instead = asked::complete;
    long before = ended(End.CLIENT_LOST);
    Line client = connect();
    client.send(hello("left").encoded());
    try (Line at = asked.get(60, TimeUnit.SECONDS)) {
      client.abort();
      assertThat(at.isOver()).isTrue();
    }
    RunningGateway.await("it is counted", () -> ended(End.CLIENT_LOST) == before + 1);
  }

  @Test
  void shouldAskAnotherWorkerWhereOneCannotBeReached() throws Exception {
    int free;
    try (ServerSocket socket = new ServerSocket(0)) {
      free = socket.getLocalPort();
    }
    w0.streamPort = free;
    try {
      RunningGateway.await("it is seen", () -> text(view("w0")).endsWith(":" + free));
      for (int i = 0; i < 2; i++) {
        try (Line client = connect()) {
          assertThat(client.greet(hello("both")).status()).isEqualTo(HelloStatus.OK);
          s1.next().close();
        }
      }
      try (Line client = connect()) {
        ServerReply reply = client.greet(hello("left"));
        assertThat(reply.status()).isEqualTo(HelloStatus.NOT_READY);
        assertThat(reply.text()).startsWith("worker 'w0' cannot be reached: ").contains("refused");
      }
    } finally {
      w0.streamPort = s0.port();
      RunningGateway.await("it is back", () -> text(view("w0")).endsWith(":" + w0.streamPort));
    }
  }

  @Test
  void shouldNotTellThePathOfAWorkersSocket() throws Exception {
    s1.close();
    try (Line client = connect()) {
      ServerReply reply = client.greet(hello("right"));
      assertThat(reply.status()).isEqualTo(HelloStatus.NOT_READY);
      assertThat(reply.text())
          .startsWith("worker 'w1' cannot be reached: ")
          .doesNotContain(folder.toString());
    } finally {
      Path socket = folder.resolve("w1");
      Files.deleteIfExists(socket);
      s1 = new FakeStreams(StreamsThroughGateway::agreed, socket);
    }
  }

  private static WorkerView view(String worker) {
    return routes().fleet().worker(worker);
  }

  private static String text(WorkerView worker) {
    return worker.stream() instanceof DomainSocketAddress local
        ? local.path()
        : String.valueOf(worker.stream());
  }

  @Test
  void shouldPassOverWorkersThatTakeNoStreams() throws Exception {
    w0.streamPort = 0;
    try {
      RunningGateway.await("it is seen", () -> view("w0").stream() == null);
      for (int i = 0; i < 4; i++) {
        try (Line client = connect()) {
          client.greet(hello("both"));
          s1.next().close();
        }
      }
      assertThat(s0.hellos).isEmpty();
      w1.ready = false;
      RunningGateway.await("it is seen", () -> !view("w1").ready());
      try (Line client = connect()) {
        ServerReply reply = client.greet(hello("both"));
        assertThat(reply.status()).isEqualTo(HelloStatus.NOT_READY);
        assertThat(reply.text()).startsWith("no worker that is ready takes tensor streams; set");
      }
      w0.ready = false;
      RunningGateway.await("it is seen", () -> !view("w0").ready());
      try (Line client = connect()) {
        ServerReply reply = client.greet(hello("both"));
        assertThat(reply.status()).isEqualTo(HelloStatus.NOT_READY);
        assertThat(reply.text()).isEqualTo("no worker is ready");
      }
    } finally {
      w0.ready = true;
      w1.ready = true;
      w0.streamPort = s0.port();
    }
  }
}
