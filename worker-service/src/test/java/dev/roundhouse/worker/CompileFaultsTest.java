package dev.roundhouse.worker;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.engine.compile.Compilation;
import dev.roundhouse.engine.device.Device;
import dev.roundhouse.engine.testing.TestBundle;
import dev.roundhouse.kserve.proto.ModelInferRequest;
import dev.roundhouse.kserve.proto.ModelInferResponse;
import dev.roundhouse.kserve.proto.RepositoryIndexRequest;
import dev.roundhouse.kserve.proto.RepositoryIndexResponse.ModelIndex;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * What a bundle can do to the compiler, and what a restart finds in the cache: a whole worker with
 * XLA's CPU plugin.
 */
@Tag("slow")
class CompileFaultsTest {
  private static final Path BYTECODE = Path.of("../examples/models/affine-v2/model.b1.mlir");

  /** XLA's reader crashes on that file when this bit is another. */
  private static final int CRASHING_BIT = 1617;

  @TempDir private Path root;

  @Test
  void shouldNameWhatCrashesHangsOrStarvesTheCompilerAndServeTheRest() throws Exception {
    byte[] crashing = Files.readAllBytes(BYTECODE);
    crashing[CRASHING_BIT / 8] ^= (byte) (1 << CRASHING_BIT % 8);
    write("crashes", crashing);
    write("explodes", exploding().getBytes(StandardCharsets.UTF_8));
    TestBundle.doublingOne(4).write(models(), "doubles");
    try (RunningWorker worker =
        worker(
            "--roundhouse.worker.compile.timeout=60s",
            "--roundhouse.worker.compile.memory=512MB")) {
      assertDoubles(worker);
      Map<String, String> index = index(worker);
      assertThat(index.get("doubles")).isEqualTo("READY ");
      assertThat(index.get("crashes"))
          .contains("UNAVAILABLE", "the compiler process crashed with SIG");
      assertThat(index.get("explodes"))
          .contains("UNAVAILABLE", "bytes of memory, more than the limit of 536870912");
      assertThat(worker.bean(Compilation.class).counts().failed()).isEqualTo(2);
    }
    try (RunningWorker worker =
        worker(
            "--roundhouse.worker.compile.timeout=3s", "--roundhouse.worker.compile.memory=64GB")) {
      assertDoubles(worker);
      assertThat(index(worker).get("explodes"))
          .contains("UNAVAILABLE", "compiling did not end within 3.0 s");
    }
  }

  @Test
  void shouldCompileNothingAfterARestart() throws Exception {
    TestBundle.doublingOne(4).write(models(), "doubles");
    TestBundle.doubling(3, 1, 4).write(models(), "batched");
    try (RunningWorker worker = worker()) {
      assertDoubles(worker);
      assertThat(worker.bean(Compilation.class).counts().compiled()).isEqualTo(3);
    }
    try (RunningWorker worker = worker()) {
      assertDoubles(worker);
      var counts = worker.bean(Compilation.class).counts();
      assertThat(counts.compiled()).isZero();
      assertThat(counts.hits()).isEqualTo(3);
      assertThat(worker.get("metrics", "/metrics"))
          .contains("roundhouse_programs_compiled_total 0.0")
          .contains("roundhouse_programs_cache_hits_total 3.0")
          .contains("roundhouse_programs_cache_bytes");
      assertThat(worker.get("metrics", "/actuator/info"))
          .contains(
              "\"programs\":{\"isolation\":\"process\",\"compiled\":0,\"failed\":0,\"cache\":{\"hits\":3,");
    }
    try (RunningWorker worker = worker("--roundhouse.worker.compile.isolation=in-process")) {
      assertDoubles(worker);
      assertThat(worker.bean(Compilation.class).counts().compiled())
          .as("what a process made serves the other way too")
          .isZero();
    }
  }

  /** Few enough that the program is not refused before it is compiled. */
  private static final int DOUBLINGS = 17;

  /** Functions that call the one before twice: 131,072 calls when inlined. */
  private static String exploding() {
    StringBuilder text = new StringBuilder("module {\n");
    text.append(function("private @f0", "%0 = stablehlo.sine %x : tensor<4xf32>"));
    String call = "func.call @f%d(%%%s) : (tensor<4xf32>) -> tensor<4xf32>";
    for (int i = 1; i <= DOUBLINGS; i++) {
      String twice = "%1 = " + call.formatted(i - 1, "x") + " %0 = " + call.formatted(i - 1, "1");
      text.append(function("private @f" + i, twice));
    }
    return text.append(function("public @main", "%0 = " + call.formatted(DOUBLINGS, "x"))) + "}";
  }

  private static String function(String name, String body) {
    return "func.func %s(%%x: tensor<4xf32>) -> tensor<4xf32> { %s return %%0 : tensor<4xf32> }%n"
        .formatted(name, body);
  }

  private RunningWorker worker(String... settings) throws Exception {
    String[] all = Arrays.copyOf(settings, settings.length + 1);
    all[settings.length] = RunningWorker.CACHE + root.resolve("programs");
    return new RunningWorker(models(), (Device) null, all).awaitLoaded();
  }

  private void assertDoubles(RunningWorker worker) {
    ModelInferRequest.Builder request = ModelInferRequest.newBuilder().setModelName("doubles");
    request.addInputsBuilder().setName("x").setDatatype("FP32").addShape(4);
    request
        .getInputsBuilder(0)
        .getContentsBuilder()
        .addFp32Contents(1)
        .addFp32Contents(2)
        .addFp32Contents(3)
        .addFp32Contents(4);
    ModelInferResponse answer = worker.stub().modelInfer(request.build());
    var y =
        answer
            .getRawOutputContents(0)
            .asReadOnlyByteBuffer()
            .order(ByteOrder.LITTLE_ENDIAN)
            .asFloatBuffer();
    assertThat(new float[] {y.get(), y.get(), y.get(), y.get()}).containsExactly(2, 4, 6, 8);
  }

  /** State and reason by model. */
  private static Map<String, String> index(RunningWorker worker) {
    Map<String, String> index = new TreeMap<>();
    for (ModelIndex model :
        worker
            .stub()
            .repositoryIndex(RepositoryIndexRequest.getDefaultInstance())
            .getModelsList()) {
      index.put(model.getName(), model.getState() + " " + model.getReason());
    }
    return index;
  }

  private void write(String name, byte[] program) {
    TestBundle.doublingOne(4).file("model.mlir", program).write(models(), name);
  }

  private Path models() {
    return root.resolve("models");
  }
}
