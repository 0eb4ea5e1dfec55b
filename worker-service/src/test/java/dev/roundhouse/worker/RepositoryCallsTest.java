package dev.roundhouse.worker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.roundhouse.engine.testing.TestBundle;
import dev.roundhouse.kserve.proto.ModelReadyRequest;
import dev.roundhouse.kserve.proto.ModelRepositoryParameter;
import dev.roundhouse.kserve.proto.RepositoryIndexRequest;
import dev.roundhouse.kserve.proto.RepositoryModelLoadRequest;
import dev.roundhouse.kserve.proto.RepositoryModelUnloadRequest;
import dev.roundhouse.kserve.proto.ServerReadyRequest;
import dev.roundhouse.worker.lifecycle.Readiness;
import io.grpc.Status.Code;
import io.grpc.StatusRuntimeException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;

/** RepositoryIndex, RepositoryModelLoad and RepositoryModelUnload, as Triton answers them. */
@Timeout(120)
class RepositoryCallsTest {
  private static final String EXPLICIT = "--roundhouse.worker.repository.mode=explicit";

  @TempDir Path repository;

  @Test
  void shouldLoadServeAndUnloadWhatIsAskedForInModeExplicit() throws Exception {
    TestBundle.doubling(2, 1).write(repository, "a");
    TestBundle.doubling(2, 1).write(repository, "b");
    try (RunningWorker worker = explicit()) {
      assertThat(worker.stub().serverReady(anything()).getReady()).isTrue();
      assertThat(index(worker, false)).containsExactly("a   ", "b   ");
      assertThat(index(worker, true)).isEmpty();

      var loaded = worker.stub().repositoryModelLoad(load("a"));
      assertThat(loaded.getModelName()).isEqualTo("a");
      assertThat(loaded.getIsLoaded()).isTrue();
      assertThat(index(worker, false)).containsExactly("a 1 READY ", "b   ");
      assertThat(index(worker, true)).containsExactly("a 1 READY ");
      assertThat(ready(worker, "a")).isTrue();
      worker.stub().modelInfer(WorkerTest.request("a", 1, 1, 2));

      worker.stub().repositoryModelUnload(unload("a"));
      assertThat(index(worker, false)).containsExactly("a 1 UNAVAILABLE unloaded", "b   ");
      assertThat(ready(worker, "a")).isFalse();
      worker.stub().repositoryModelLoad(load("a"));
      assertThat(ready(worker, "a")).isTrue();
      worker.stub().repositoryModelUnload(unload("never-heard-of"));
    }
  }

  @Test
  @ExtendWith(OutputCaptureExtension.class)
  void shouldGoOnCountingAModelThatComesBack(CapturedOutput output) throws Exception {
    TestBundle.doubling(2, 1).write(repository, "a");
    try (RunningWorker worker = explicit()) {
      for (int calls = 1; calls <= 2; calls++) {
        worker.stub().repositoryModelLoad(load("a"));
        worker.stub().modelInfer(WorkerTest.request("a", 1, 1, 2));
        assertThat(worker.get("metrics", "/metrics"))
            .contains("roundhouse_requests_accepted_total{model=\"a\"} %d.0".formatted(calls));
        worker.stub().repositoryModelUnload(unload("a"));
      }
    }
    assertThat(output).doesNotContain("already registered", "already been registered");
  }

  @Test
  void shouldTakeTheNameWhereKServesClientPutsIt() throws Exception {
    TestBundle.doubling(2, 1).write(repository, "a");
    try (RunningWorker worker = explicit()) {
      var request = RepositoryModelLoadRequest.newBuilder().setRepositoryName("a").build();
      assertThat(worker.stub().repositoryModelLoad(request).getIsLoaded()).isTrue();
    }
  }

  @Test
  void shouldSayWhyALoadFailed() throws Exception {
    Path folder = TestBundle.doubling(2, 1).write(repository, "a");
    Files.writeString(folder.resolve("model.b1.mlir"), "not a program");
    try (RunningWorker worker = explicit()) {
      refused(
          () -> worker.stub().repositoryModelLoad(load("a")),
          Code.INTERNAL,
          "failed to load 'a'",
          "model.b1.mlir");
      assertThat(index(worker, false).getFirst()).startsWith("a 1 UNAVAILABLE ");
      refused(
          () -> worker.stub().repositoryModelLoad(load("none")),
          Code.INTERNAL,
          "failed to load 'none', failed to poll from model repository");
    }
  }

  @Test
  void shouldShowOperatorsAModelThatServesWhileItsNewerFilesDoNot() throws Exception {
    Path folder = TestBundle.doubling(2, 1).write(repository, "a");
    Path program = folder.resolve("model.b1.mlir");
    byte[] sound = Files.readAllBytes(program);
    try (RunningWorker worker = explicit()) {
      worker.stub().repositoryModelLoad(load("a"));
      assertStale(worker, "\"stale\":{}", 0);
      Files.writeString(program, "not a program");
      refused(() -> worker.stub().repositoryModelLoad(load("a")), Code.INTERNAL, "model.b1.mlir");
      worker.stub().modelInfer(WorkerTest.request("a", 1, 1, 2));
      assertStale(worker, "\"stale\":{\"a\":\"", 1);
      assertThat(worker.get("metrics", "/actuator/health")).contains("model.b1.mlir");

      Files.write(program, sound);
      worker.stub().repositoryModelLoad(load("a"));
      assertStale(worker, "\"stale\":{}", 0);
    }
  }

  /** It stays UP, and counts no failed model. */
  private static void assertStale(RunningWorker worker, String detail, int count) throws Exception {
    assertThat(worker.get("metrics", "/actuator/health"))
        .startsWith("200 ")
        .contains("\"status\":\"UP\"", "\"ready\":1", "\"failed\":{}", detail);
    assertThat(worker.get("metrics", "/metrics"))
        .contains("roundhouse_models_stale %d.0".formatted(count))
        .contains("roundhouse_models{state=\"failed\"} 0.0");
  }

  @Test
  void shouldRefuseWhatItDoesNotKnow() throws Exception {
    try (RunningWorker worker = explicit()) {
      var named = RepositoryIndexRequest.newBuilder().setRepositoryName("r").build();
      refused(
          () -> worker.stub().repositoryIndex(named),
          Code.UNIMPLEMENTED,
          "'repository_name' specification is not supported");
      refused(
          () ->
              worker
                  .stub()
                  .repositoryModelLoad(load("a").toBuilder().setRepositoryName("r").build()),
          Code.UNIMPLEMENTED,
          "repository_name");
      for (String name : List.of("../a", "a/b", "a\\b", "..")) {
        refused(
            () -> worker.stub().repositoryModelLoad(load(name)),
            Code.INVALID_ARGUMENT,
            "model name must not contain path traversal characters");
      }
      refused(
          () -> worker.stub().repositoryModelUnload(unload("")),
          Code.INVALID_ARGUMENT,
          "Model name cannot be empty");
      var text = ModelRepositoryParameter.newBuilder().setStringParam("{}").build();
      for (String parameter : List.of("config", "file:1/model.onnx")) {
        refused(
            () ->
                worker
                    .stub()
                    .repositoryModelLoad(
                        load("a").toBuilder().putParameters(parameter, text).build()),
            Code.UNIMPLEMENTED,
            "parameter '" + parameter + "'");
      }
      refused(
          () ->
              worker
                  .stub()
                  .repositoryModelLoad(load("a").toBuilder().putParameters("colour", text).build()),
          Code.INVALID_ARGUMENT,
          "'colour'");
      refused(
          () ->
              worker
                  .stub()
                  .repositoryModelUnload(
                      unload("a").toBuilder().putParameters("unload_dependents", text).build()),
          Code.INVALID_ARGUMENT,
          "invalid value type for 'unload_dependents' parameter, expected bool_param");
      var yes = ModelRepositoryParameter.newBuilder().setBoolParam(true).build();
      worker
          .stub()
          .repositoryModelUnload(
              unload("a").toBuilder().putParameters("unload_dependents", yes).build());
    }
  }

  @Test
  void shouldRefuseLoadsInOtherModes() throws Exception {
    TestBundle.doubling(2, 1).write(repository, "a");
    for (String mode : List.of("static", "dynamic")) {
      try (RunningWorker worker =
          new RunningWorker(
                  repository, TestBundle.DOUBLE, "--roundhouse.worker.repository.mode=" + mode)
              .awaitLoaded()) {
        refused(
            () -> worker.stub().repositoryModelLoad(load("a")),
            Code.UNAVAILABLE,
            "explicit model load / unload is not allowed if polling is enabled");
        refused(
            () -> worker.stub().repositoryModelUnload(unload("a")),
            Code.UNAVAILABLE,
            "explicit model load / unload is not allowed");
        assertThat(index(worker, false)).containsExactly("a 1 READY ");
      }
    }
  }

  @Test
  void shouldLoadAtTheStartWhatModeExplicitIsTold() throws Exception {
    TestBundle.doubling(2, 1).write(repository, "a");
    TestBundle.doubling(2, 1).write(repository, "b");
    try (RunningWorker worker =
        new RunningWorker(
                repository,
                TestBundle.DOUBLE,
                EXPLICIT,
                "--roundhouse.worker.repository.load=b,none")
            .awaitLoaded()) {
      List<String> lines = index(worker, false);
      assertThat(lines).hasSize(3).startsWith("a   ", "b 1 READY ");
      assertThat(lines.get(2)).startsWith("none 1 UNAVAILABLE ");
    }
  }

  @Test
  void shouldLoadAndUnloadWhatAModelCallsWithIt() throws Exception {
    TestBundle.doubling(2, 1).write(repository, "a");
    TestBundle.doubling(2, 1).write(repository, "b");
    chain("b").write(repository, "m");
    chain("a").write(repository, "n");
    try (RunningWorker worker = explicit()) {
      worker.stub().repositoryModelLoad(load("m"));
      assertThat(index(worker, true)).containsExactly("a 1 READY ", "b 1 READY ", "m 1 READY ");
      assertThat(worker.stub().modelInfer(WorkerTest.request("m", 1, 1, 2)).getModelName())
          .isEqualTo("m");
      worker.stub().repositoryModelLoad(load("n"));
      worker.stub().repositoryModelUnload(unload("m"));
      assertThat(index(worker, true)).containsExactly("a 1 READY ", "b 1 READY ", "n 1 READY ");
      worker.stub().repositoryModelLoad(load("m"));
      worker.stub().repositoryModelUnload(unloadWithDependents("m"));
      assertThat(index(worker, true)).as("n calls a").containsExactly("a 1 READY ", "n 1 READY ");
      worker.stub().repositoryModelUnload(unloadWithDependents("n"));
      assertThat(index(worker, true)).isEmpty();
      Files.delete(repository.resolve("a/model.b1.mlir"));
      refused(
          () -> worker.stub().repositoryModelLoad(load("n")),
          Code.INTERNAL,
          "failed to load 'n', it calls 'a', which failed to load");
    }
  }

  /** An ensemble that calls a, and then this. */
  private static TestBundle chain(String second) {
    return TestBundle.ensemble(
        """
        inputs: [{name: x, dtype: f32, shape: [n, 2]}]
        outputs: [{name: y, dtype: f32, shape: [n, 2]}]
        steps:
          - {model: a, inputs: {x: x}, outputs: {y: t}}
          - {model: %s, inputs: {x: t}, outputs: {y: y}}
        """
            .formatted(second));
  }

  private static RepositoryModelUnloadRequest unloadWithDependents(String name) {
    return unload(name).toBuilder()
        .putParameters(
            "unload_dependents", ModelRepositoryParameter.newBuilder().setBoolParam(true).build())
        .build();
  }

  @Test
  void shouldListWhatAMetaCallsOnlyWhenToldTo() throws Exception {
    TestBundle.doubling(2, 1).write(repository, "a");
    TestBundle.doubling(2, 1).write(repository, "b");
    TestBundle.meta("a")
        .file(
            "Model.java",
            """
            import dev.roundhouse.hooks.*;

            class Model implements MetaModel {
              @Override public Tensors run(HookRequest request, Calls calls) {
                return calls.call("a", request.inputs());
              }
            }
            """
                .getBytes(StandardCharsets.UTF_8))
        .write(repository, "m");
    try (RunningWorker worker = new RunningWorker(repository, TestBundle.DOUBLE).awaitLoaded()) {
      assertThat(index(worker, false)).containsExactly("b 1 READY ", "m 1 READY ");
      worker.stub().modelInfer(WorkerTest.request("m", 1, 1, 2));
      worker.stub().modelInfer(WorkerTest.request("a", 1, 1, 2));
    }
    try (RunningWorker worker =
        new RunningWorker(
                repository, TestBundle.DOUBLE, "--roundhouse.worker.repository.list-called=true")
            .awaitLoaded()) {
      assertThat(index(worker, true)).containsExactly("a 1 READY ", "b 1 READY ", "m 1 READY ");
    }
  }

  @Test
  void shouldServeTheVersionsThatTheOperatorWantsOfAModel() throws Exception {
    for (String version : List.of("1", "2", "3")) {
      TestBundle.doubling(2, 1).write(repository.resolve("a"), version);
      TestBundle.doubling(2, 1).write(repository.resolve("b"), version);
    }
    try (RunningWorker worker =
        new RunningWorker(
                repository,
                TestBundle.DOUBLE,
                "--roundhouse.worker.repository.version-policy=latest:2",
                "--roundhouse.worker.models.a.version-policy=1,3")
            .awaitLoaded()) {
      assertThat(index(worker, true))
          .containsExactly("a 1 READY ", "a 3 READY ", "b 2 READY ", "b 3 READY ");
      var first = WorkerTest.request("a", 1, 1, 2).toBuilder().setModelVersion("1").build();
      assertThat(worker.stub().modelInfer(first).getModelVersion()).isEqualTo("1");
      assertThat(worker.stub().modelInfer(WorkerTest.request("a", 1, 1, 2)).getModelVersion())
          .isEqualTo("3");
    }
  }

  @Test
  @ExtendWith(OutputCaptureExtension.class)
  void shouldHoldReadinessBackForAFailedModelOnlyWhenStrict(CapturedOutput output)
      throws Exception {
    Path folder = TestBundle.doubling(2, 1).write(repository, "a");
    byte[] sound = Files.readAllBytes(folder.resolve("model.b1.mlir"));
    Files.writeString(folder.resolve("model.b1.mlir"), "not a program");
    try (RunningWorker worker = new RunningWorker(repository, TestBundle.DOUBLE).awaitLoaded()) {
      assertThat(worker.bean(Readiness.class).isReady()).isTrue();
      awaitLine(output, "ready grpc=.* models=0 failed=1 .*");
    }
    int before = output.getOut().length();
    try (RunningWorker worker =
        new RunningWorker(
                repository,
                TestBundle.DOUBLE,
                EXPLICIT,
                "--roundhouse.worker.repository.load=*",
                "--roundhouse.worker.readiness.strict=true")
            .awaitLoaded()) {
      assertThat(worker.bean(Readiness.class).isReady()).isFalse();
      awaitLine(output, "not-ready grpc=.* models=0 failed=1 .*");
      assertThat(output.getOut().substring(before)).doesNotContainPattern("(?m)^ready ");
      Files.write(folder.resolve("model.b1.mlir"), sound);
      worker.stub().repositoryModelLoad(load("a"));
      assertThat(worker.bean(Readiness.class).isReady()).isTrue();
      awaitLine(output, "ready grpc=.* models=1 failed=0 .*");
    }
  }

  private static void awaitLine(CapturedOutput output, String line) throws InterruptedException {
    long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(20);
    while (output.getOut().lines().noneMatch(each -> each.matches(line))) {
      assertThat(System.nanoTime()).as(line).isLessThan(deadline);
      TimeUnit.MILLISECONDS.sleep(5);
    }
  }

  private RunningWorker explicit() throws Exception {
    return new RunningWorker(repository, TestBundle.DOUBLE, EXPLICIT).awaitLoaded();
  }

  private static ServerReadyRequest anything() {
    return ServerReadyRequest.getDefaultInstance();
  }

  private static List<String> index(RunningWorker worker, boolean ready) {
    return worker
        .stub()
        .repositoryIndex(RepositoryIndexRequest.newBuilder().setReady(ready).build())
        .getModelsList()
        .stream()
        .map(
            line ->
                String.join(
                    " ", line.getName(), line.getVersion(), line.getState(), line.getReason()))
        .toList();
  }

  private static boolean ready(RunningWorker worker, String model) {
    return worker
        .stub()
        .modelReady(ModelReadyRequest.newBuilder().setName(model).build())
        .getReady();
  }

  private static RepositoryModelLoadRequest load(String name) {
    return RepositoryModelLoadRequest.newBuilder().setModelName(name).build();
  }

  private static RepositoryModelUnloadRequest unload(String name) {
    return RepositoryModelUnloadRequest.newBuilder().setModelName(name).build();
  }

  private static void refused(Runnable call, Code code, String... fragments) {
    StatusRuntimeException refusal = catchThrowableOfType(StatusRuntimeException.class, call::run);
    assertThat(refusal).as("refusal").isNotNull();
    assertThat(refusal.getStatus().getCode()).isEqualTo(code);
    assertThat(refusal.getStatus().getDescription()).contains(fragments);
  }
}
