package dev.roundhouse.gateway;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.ByteString;
import dev.roundhouse.kserve.proto.GRPCInferenceServiceGrpc;
import dev.roundhouse.kserve.proto.ModelInferRequest;
import dev.roundhouse.kserve.proto.ModelInferResponse;
import dev.roundhouse.transport.forward.ForwardingBudget;
import io.grpc.CallOptions;
import io.grpc.ClientCall;
import io.grpc.Metadata;
import io.grpc.Status;
import java.net.http.HttpResponse;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What a gateway holds of its clients' calls. */
@Timeout(120)
class GatewayMemoryTest {
  private static final int LIMIT = 8 << 20;
  private static final int MOST_CALLS = 200;

  @Test
  void shouldRefuseCallsWhileClientsDoNotReadWhatItHolds() throws Exception {
    try (FakeWorker worker = new FakeWorker("w0", "m");
        RunningGateway gateway =
            new RunningGateway(List.of(worker), "--roundhouse.gateway.server.max-held=8MB")) {
      gateway.awaitReady(1);
      assertThat(gateway.management("/metrics"))
          .contains("gateway_memory_limit_bytes 8388608.0", "gateway_memory_held_bytes 0.0");
      ForwardingBudget memory = gateway.bean(ForwardingBudget.class);
      List<Unread> calls = new ArrayList<>();
      Status refusal = Status.OK;
      while (refusal.isOk() && calls.size() < MOST_CALLS) {
        Unread call = new Unread(gateway);
        calls.add(call);
        int begun = calls.size();
        RunningGateway.await(
            "the call has reached the worker, or is refused",
            () -> worker.calls.size() >= begun || call.end.isDone());
        refusal = call.end.getNow(Status.OK);
      }
      assertThat(refusal.getCode()).isEqualTo(Status.Code.RESOURCE_EXHAUSTED);
      assertThat(refusal.getDescription())
          .matches(
              "calls that are sent on hold \\d+ bytes, this one needs \\d+ more, and the limit is 6291456 for calls that begin, of 8388608; retry later, or raise roundhouse.gateway.server.max-held");
      assertThat(memory.held()).isBetween(1L, (long) LIMIT);
      calls.forEach(call -> call.call.cancel("the test is over", null));
      for (Unread call : calls) {
        assertThat(call.end.get(30, TimeUnit.SECONDS).isOk()).isFalse();
      }
      RunningGateway.await("nothing is held", () -> memory.held() == 0);
      assertThat(gateway.stub().modelInfer(request()).getRawOutputContents(0).size())
          .isEqualTo(3_000_000);
      assertThat(gateway.management("/metrics")).contains("gateway_memory_held_bytes 0.0");
    }
  }

  @Test
  void shouldRefuseRequestsOverHttpWhileItHoldsAsManyAsItMay() throws Exception {
    try (FakeWorker worker = new FakeWorker("w0", "m");
        RunningGateway gateway =
            new RunningGateway(List.of(worker), "--roundhouse.gateway.server.max-held=8MB")) {
      gateway.awaitReady(1);
      CountDownLatch answers = new CountDownLatch(1);
      worker.held = answers;
      ForwardingBudget memory = gateway.bean(ForwardingBudget.class);
      String body = "{\"inputs\":[]}" + " ".repeat(50_000);
      List<CompletableFuture<HttpResponse<String>>> calls = new ArrayList<>();
      HttpResponse<String> refusal = null;
      while (refusal == null && calls.size() < MOST_CALLS) {
        CompletableFuture<HttpResponse<String>> call = sent(gateway, body);
        calls.add(call);
        int begun = calls.size();
        RunningGateway.await(
            "the call has reached the worker, or is refused",
            () -> worker.calls.size() >= begun || call.isDone());
        refusal = call.getNow(null);
        assertThat(memory.held()).isGreaterThanOrEqualTo((begun - 1) * (long) body.length());
      }
      Objects.requireNonNull(refusal, "all began");
      assertThat(refusal.statusCode()).isEqualTo(429);
      assertThat(refusal.body()).contains("for calls that begin, of 8388608; retry later");
      assertThat(gateway.send("POST", "/v2/logging", "{}").statusCode()).isIn(200, 429);
      answers.countDown();
      for (CompletableFuture<HttpResponse<String>> call : calls) {
        assertThat(call.get(60, TimeUnit.SECONDS).statusCode()).isIn(200, 429);
      }
      RunningGateway.await("nothing is held", () -> memory.held() == 0);
      String large = "{\"inputs\":[]}" + " ".repeat(3_000_000);
      assertThat(sent(gateway, large).get(60, TimeUnit.SECONDS).statusCode()).isEqualTo(200);
      RunningGateway.await("nothing is held", () -> memory.held() == 0);
    }
  }

  private static CompletableFuture<HttpResponse<String>> sent(RunningGateway to, String body) {
    CompletableFuture<HttpResponse<String>> answer = new CompletableFuture<>();
    Thread.startVirtualThread(
        () -> {
          try {
            answer.complete(to.send("POST", "/v2/models/m/infer", body));
          } catch (Exception e) {
            answer.completeExceptionally(e);
          }
        });
    return answer;
  }

  private static ModelInferRequest request() {
    return ModelInferRequest.newBuilder()
        .setModelName("m")
        .addRawInputContents(ByteString.copyFrom(new byte[3_000_000]))
        .build();
  }

  /** A call whose answer is not asked for. */
  private static final class Unread extends ClientCall.Listener<ModelInferResponse> {
    final CompletableFuture<Status> end = new CompletableFuture<>();
    final ClientCall<ModelInferRequest, ModelInferResponse> call;

    Unread(RunningGateway gateway) {
      call =
          gateway
              .stub()
              .getChannel()
              .newCall(GRPCInferenceServiceGrpc.getModelInferMethod(), CallOptions.DEFAULT);
      call.start(this, new Metadata());
      call.sendMessage(request());
      call.halfClose();
    }

    @Override
    public void onClose(Status status, Metadata trailers) {
      end.complete(status);
    }
  }
}
