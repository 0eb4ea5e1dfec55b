package dev.roundhouse.gateway;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.gateway.fleet.WorkerTls;
import dev.roundhouse.gateway.fleet.Workers;
import dev.roundhouse.gateway.rest.InferRoutes;
import dev.roundhouse.gateway.route.ModelRoutes;
import dev.roundhouse.kserve.codec.CallerHeader;
import dev.roundhouse.kserve.codec.SpentHeader;
import dev.roundhouse.platform.rest.JsonReply;
import dev.roundhouse.transport.http1.Http1Server;
import dev.roundhouse.transport.http1.Http1Settings;
import dev.roundhouse.transport.http1.RequestGuard;
import dev.roundhouse.transport.forward.ForwardingBudget;
import dev.roundhouse.transport.io.LoadListener;
import dev.roundhouse.transport.memory.PeerMemory;
import io.grpc.Status;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashSet;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Inference over HTTP that is sent on on event loops, beside a gateway that knows the workers. */
class ForwardedRestTest extends TwoWorkers {
  private final HttpClient client = HttpClient.newHttpClient();
  private Http1Server server;

  @BeforeEach
  void listen() throws Exception {
    ForwardingBudget memory = gateway.bean(ForwardingBudget.class);
    InferRoutes routes =
        new InferRoutes(
            gateway.bean(ModelRoutes.class),
            gateway.bean(Workers.class),
            memory,
            gateway.bean(WorkerTls.class),
            8 << 20,
            Duration.ofSeconds(20));
    long patience = TimeUnit.MINUTES.toNanos(1);
    server =
        new Http1Server(
            new Http1Settings(
                new InetSocketAddress(InetAddress.getLoopbackAddress(), 0),
                () -> null,
                Path.of("nobody"),
                "client-was",
                RequestGuard.NONE,
                routes,
                JsonReply::error,
                LoadListener.NONE,
                failure -> {},
                gateway.bean(PeerMemory.class),
                new Http1Settings.BodyLimits(8 << 20, InferRoutes.REMEDY),
                new Http1Settings.Limits(100, 10, 8192, -1),
                new Http1Settings.Times(patience, patience, patience, "hurry")));
    server.start();
  }

  @AfterEach
  void shouldHoldNothing() throws Exception {
    server.close();
    RunningGateway.await("nothing is held", () -> gateway.bean(ForwardingBudget.class).held() == 0);
  }

  private HttpResponse<String> send(String path, String body, String... headers) throws Exception {
    HttpRequest.Builder request =
        HttpRequest.newBuilder(
                URI.create("http://127.0.0.1:" + server.port() + "/v2/models/" + path))
            .POST(HttpRequest.BodyPublishers.ofString(body));
    if (headers.length > 0) {
      request.headers(headers);
    }
    return client.send(request.build(), HttpResponse.BodyHandlers.ofString());
  }

  @Test
  void shouldPassInferenceOn() throws Exception {
    Set<String> answered = new TreeSet<>();
    for (int i = 0; i < 4; i++) {
      var answer = send("both/infer", "{\"inputs\":[]}", "X-Echo", "e" + i);
      assertThat(answer.statusCode()).isEqualTo(200);
      assertThat(answer.body()).endsWith(" /v2/models/both/infer {\"inputs\":[]}");
      assertThat(answer.headers().firstValue("X-Echo")).hasValue("e" + i);
      answered.add(answer.body().substring(0, 2));
    }
    assertThat(answered).containsExactly("w0", "w1");
    String large = "x".repeat(3_000_000);
    assertThat(send("right/versions/1/infer", large).body())
        .isEqualTo("w1 /v2/models/right/versions/1/infer " + large);
    assertThat(send("r%69ght/infer", "{}").body()).startsWith("w1 ");
  }

  @Test
  void shouldTellAWorkerWhoseRequestItIsWhateverTheClientSays() throws Exception {
    String told = send("right/infer", "{}").headers().firstValue("X-Callers").orElseThrow();
    assertThat(told).matches("\\[[1-9][0-9]*]");
    assertThat(
            send("right/infer", "{}", CallerHeader.NAME, "7777").headers().firstValue("X-Callers"))
        .hasValue(told);
  }

  @Test
  void shouldAskAnother() throws Exception {
    w0.failure = Status.UNAVAILABLE;
    Set<Boolean> asFirst = new HashSet<>();
    for (int i = 0; i < 30 && asFirst.size() < 2; i++) {
      w0.calls.clear();
      var answer = send("both/infer", "{}", SpentHeader.NAME, "7777777");
      assertThat(answer.body()).startsWith("w1 ");
      boolean first = w0.calls.isEmpty();
      assertThat(answer.headers().firstValue("X-Spent").orElseThrow())
          .matches(first ? "null" : "\\[[1-9][0-9]*]")
          .isNotEqualTo("[7777777]");
      asFirst.add(first);
    }
    assertThat(asFirst).as("asked first, and after the other").hasSize(2);
    w1.failure = Status.UNAVAILABLE;
    assertThat(send("both/infer", "{}").statusCode()).isEqualTo(503);
  }

  @Test
  void shouldTakeTheNextRequestWhenAWorkerHasNotReadTheOneBefore() throws Exception {
    String large = "x".repeat(5_000_000);
    for (int i = 0; i < 5; i++) {
      w1.refusesUnread = true;
      assertThat(send("right/infer", large).statusCode())
          .isIn(400, 503); // as the connection's end is seen before the answer or after it
      w1.refusesUnread = false;
      assertThat(send("right/infer", large).body()).isEqualTo("w1 /v2/models/right/infer " + large);
    }
  }

  @Test
  void shouldRefuseABodyThatIsTooLarge() throws Exception {
    var answer = send("right/infer", "x".repeat(9_000_000));
    assertThat(answer.statusCode()).isEqualTo(400);
    assertThat(answer.body())
        .isEqualTo(
            "{\"error\":\"the request's body has 9000000 bytes, the limit is 8388608; send less, or raise roundhouse.gateway.server.max-message-size\"}");
    assertThat(w1.calls).noneMatch(call -> call.startsWith("POST"));
  }

  @Test
  void shouldKeepSequencesWithTheirWorker() throws Exception {
    for (int sequence = 1; sequence <= 10; sequence++) {
      String home = gateway.stub().modelInfer(step("both", sequence)).getId();
      String body = "{\"parameters\":{\"sequence_id\":" + sequence + "},\"inputs\":[]}";
      assertThat(send("both/infer", body).body()).startsWith(home);
    }
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "POST /v2/models/m",
        "POST /v2/models//infer",
        "POST /v2/models/../infer",
        "POST /v2/models/%2e%2e/infer",
        "POST /v2/models/a%2fb/infer",
        "POST /v2/models/a%zz/infer",
        "POST /v2/models/a;b/infer",
        "POST /v2/models/m/versions//infer",
        "POST /v2/models/m/infer/",
        "GET /v2/models/m/infer"
      })
  void shouldLeaveOtherRequestsToOthers(String request) {
    InferRoutes routes =
        new InferRoutes(
            gateway.bean(ModelRoutes.class),
            gateway.bean(Workers.class),
            gateway.bean(ForwardingBudget.class),
            WorkerTls.NONE,
            1,
            Duration.ofSeconds(20));
    String[] parts = request.split(" ");
    assertThat(routes.route(parts[0], parts[1])).isNull();
  }
}
