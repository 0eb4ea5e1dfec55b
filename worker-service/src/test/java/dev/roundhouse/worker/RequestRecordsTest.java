package dev.roundhouse.worker;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.AppenderBase;
import com.google.common.util.concurrent.ListenableFuture;
import dev.roundhouse.engine.Engine;
import dev.roundhouse.engine.testing.LiveEngine;
import dev.roundhouse.engine.testing.TestBundle;
import dev.roundhouse.kserve.proto.GRPCInferenceServiceGrpc;
import dev.roundhouse.kserve.proto.InferParameter;
import dev.roundhouse.kserve.proto.ModelInferRequest;
import dev.roundhouse.kserve.proto.ModelInferResponse;
import io.grpc.Status;
import io.grpc.Status.Code;
import java.net.http.HttpRequest.BodyPublishers;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.slf4j.LoggerFactory;

/** No request leaves a log record, however it ends, at the level that applications begin with. */
@Timeout(120)
class RequestRecordsTest {
  private static final int REQUESTS = 1000;

  private static final Gate GATE = new Gate();
  @TempDir static Path repository;
  private static RunningWorker worker;

  private final Logger root = (Logger) LoggerFactory.getLogger(Logger.ROOT_LOGGER_NAME);
  private final Queue<String> records = new ConcurrentLinkedQueue<>();
  private final AppenderBase<ILoggingEvent> noting =
      new AppenderBase<>() {
        @Override
        protected void append(ILoggingEvent record) {
          records.add(record.getLoggerName() + ": " + record.getFormattedMessage());
        }
      };

  @BeforeAll
  static void start() throws Exception {
    TestBundle.doubling(2, 1, 4).write(repository, "double");
    worker = new RunningWorker(repository, GATE).awaitLoaded();
  }

  @AfterAll
  static void stop() {
    worker.close();
  }

  @BeforeEach
  void note() {
    noting.setContext(root.getLoggerContext());
    noting.start();
    root.addAppender(noting);
  }

  @AfterEach
  void shouldHaveLoggedNothing() {
    GATE.open();
    LiveEngine.await("all are over", () -> worker.bean(Engine.class).openRequests() == 0);
    root.detachAppender(noting);
    assertThat(records).isEmpty();
  }

  @Test
  void shouldLogNothingOfRequestsThatAreAnswered() throws Exception {
    assertThat(ends(calls(request("double")))).containsExactly(Map.entry(Code.OK, REQUESTS));
  }

  @Test
  void shouldLogNothingOfRequestsThatAreRefused() throws Exception {
    ModelInferRequest wrong = WorkerTest.request("double", 1, 1, 2, 3);
    assertThat(ends(calls(wrong))).containsExactly(Map.entry(Code.INVALID_ARGUMENT, REQUESTS));
    assertThat(ends(calls(request("none")))).containsExactly(Map.entry(Code.NOT_FOUND, REQUESTS));
  }

  @Test
  void shouldLogNothingOfRequestsOverHttp() throws Exception {
    for (int i = 0; i < REQUESTS; i++) {
      String model = i % 3 == 1 ? "none" : "double";
      String shape = i % 3 == 2 ? "[1,3]" : "[1,2]";
      String body =
          "{\"inputs\":[{\"name\":\"x\",\"datatype\":\"FP32\",\"shape\":%s,\"data\":[1,2]}]}"
              .formatted(shape);
      int code =
          worker
              .send(
                  worker.http("/v2/models/" + model + "/infer").POST(BodyPublishers.ofString(body)))
              .statusCode();
      assertThat(code).isEqualTo(List.of(200, 404, 400).get(i % 3));
    }
  }

  @Test
  void shouldLogNothingOfRequestsThatAreDropped() throws Exception {
    GATE.shut();
    ListenableFuture<ModelInferResponse> running = call(request("double"));
    GATE.awaitArrival();
    ModelInferRequest impatient =
        request("double").toBuilder()
            .putParameters("timeout", InferParameter.newBuilder().setInt64Param(1000).build())
            .build();
    List<ListenableFuture<ModelInferResponse>> calls = calls(impatient);
    LiveEngine.await(
        "all have arrived", () -> worker.bean(Engine.class).openRequests() == REQUESTS + 1);
    GATE.open();
    assertThat(ends(calls).getOrDefault(Code.OK, 0)).isLessThan(20);
    running.get(30, TimeUnit.SECONDS);
  }

  @Test
  void shouldLogNothingOfRequestsThatAreCancelled() {
    GATE.shut();
    List<ListenableFuture<ModelInferResponse>> calls = calls(request("double"));
    GATE.awaitArrival();
    calls.forEach(call -> call.cancel(true));
  }

  private static ModelInferRequest request(String model) {
    return WorkerTest.request(model, 1, 1, 2).toBuilder().setId("r17").build();
  }

  private static List<ListenableFuture<ModelInferResponse>> calls(ModelInferRequest request) {
    List<ListenableFuture<ModelInferResponse>> calls = new ArrayList<>();
    for (int i = 0; i < REQUESTS; i++) {
      calls.add(call(request));
    }
    return calls;
  }

  private static ListenableFuture<ModelInferResponse> call(ModelInferRequest request) {
    return GRPCInferenceServiceGrpc.newFutureStub(worker.channel()).modelInfer(request);
  }

  private static Map<Code, Integer> ends(List<ListenableFuture<ModelInferResponse>> calls)
      throws Exception {
    Map<Code, Integer> ends = new EnumMap<>(Code.class);
    for (ListenableFuture<ModelInferResponse> call : calls) {
      Code end = Code.OK;
      try {
        call.get(30, TimeUnit.SECONDS);
      } catch (ExecutionException e) {
        end = Status.fromThrowable(e).getCode();
      }
      ends.merge(end, 1, Integer::sum);
    }
    return ends;
  }
}
