package dev.roundhouse.pjrt;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.roundhouse.bundle.tensor.DType;
import dev.roundhouse.bundle.tensor.TensorType;
import dev.roundhouse.engine.device.Device.HostMemory;
import dev.roundhouse.engine.device.DeviceBuffer;
import dev.roundhouse.engine.device.DeviceException;
import dev.roundhouse.engine.device.DeviceException.Code;
import dev.roundhouse.engine.device.DeviceProgram;
import dev.roundhouse.engine.device.Execution;
import dev.roundhouse.engine.device.ProgramCompiler;
import dev.roundhouse.engine.device.ProgramSource;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Compiling in a process of its own, with the CPU plugin and programs that end it. */
class CompilerProcessesTest {
  private static final TensorType TYPE = TensorType.of(DType.F32, 4);
  private static final CompilerLimits LIMITS =
      new CompilerLimits(Duration.ofSeconds(60), 2L << 30, Duration.ofSeconds(60));

  @TempDir private Path folder;
  private final PjrtDevice device = PjrtDevice.open(PjrtDeviceOptions.DEFAULTS);

  @AfterEach
  void shouldLeaveNothingBehind() {
    assertThat(device.openHandles()).isZero();
    device.close();
    await("no process", () -> children().isEmpty());
  }

  @Test
  void shouldMakeWhatTheDeviceLoadsAndRuns() {
    try (ProgramCompiler compiler = device.openCompiler(LIMITS)) {
      assertSquares(compiler.compile(HostilePrograms.square()));
      List<ProcessHandle> first = children();
      assertSquares(compiler.compile(HostilePrograms.square()));
      assertThat(children()).as("is kept for the next").hasSize(1).isEqualTo(first);
    }
  }

  @Test
  void shouldRefuseWhatDoesNotCompileAndGoOn() {
    ProgramSource broken =
        new ProgramSource("m/broken", "func.func @main( garbage".getBytes(StandardCharsets.UTF_8));
    try (ProgramCompiler compiler = device.openCompiler(LIMITS)) {
      assertThatThrownBy(() -> compiler.compile(broken))
          .isInstanceOf(DeviceException.class)
          .hasMessageStartingWith("m/broken: ")
          .hasMessageContaining("expected non-function type");
      List<ProcessHandle> first = children();
      assertSquares(compiler.compile(HostilePrograms.square()));
      assertThat(children()).isEqualTo(first);
      assertThatThrownBy(() -> compiler.compile(new ProgramSource("m/none", new byte[0])))
          .hasMessageContaining("m/none has no code");
    }
  }

  @Test
  void shouldSurviveAProgramThatCrashesTheCompiler() {
    try (ProgramCompiler compiler = device.openCompiler(LIMITS)) {
      assertThatThrownBy(() -> compiler.compile(HostilePrograms.recursion()))
          .isInstanceOfSatisfying(
              DeviceException.class, e -> assertThat(e.code()).isEqualTo(Code.INTERNAL))
          .hasMessageMatching("(?s)m/recursion: the compiler process crashed with SIG[A-Z]+ .*");
      assertSquares(compiler.compile(HostilePrograms.square()));
    }
  }

  /** Bit 1617 of this file; of sixty flips tried, one crashed XLA and 38 were refused. */
  @Test
  void shouldSurviveAFlippedBitInBytecode() throws Exception {
    byte[] artifact = Files.readAllBytes(Path.of("../examples/models/affine-v2/model.b1.mlir"));
    artifact[1617 / 8] ^= (byte) (1 << 1617 % 8);
    try (ProgramCompiler compiler = device.openCompiler(LIMITS)) {
      assertThatThrownBy(() -> compiler.compile(new ProgramSource("m/flipped", artifact)))
          .hasMessageStartingWith("m/flipped: the compiler process crashed with SIG");
      assertSquares(compiler.compile(HostilePrograms.square()));
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"sort", "topk"})
  void shouldSurviveAProgramThatCrashesWhenItIsRun(String which) {
    ProgramSource source =
        which.equals("sort") ? HostilePrograms.unstrictSort() : HostilePrograms.wideTopK();
    CompilerLimits limits =
        new CompilerLimits(Duration.ofSeconds(8), 2L << 30, Duration.ofSeconds(60));
    try (ProgramCompiler compiler = device.openCompiler(limits)) {
      assertThatThrownBy(() -> compiler.compile(source))
          .isInstanceOf(DeviceException.class)
          .hasMessageMatching("(?s)m/" + which + ": running it on trial.*");
      assertSquares(compiler.compile(HostilePrograms.square()));
    }
  }

  @Test
  void shouldEndATrialThatNeverEnds() {
    CompilerLimits brief =
        new CompilerLimits(
            Duration.ofSeconds(60),
            Duration.ofSeconds(1),
            64L << 30,
            Duration.ofSeconds(60),
            CompilerConfinement.AUTO);
    try (ProgramCompiler compiler = device.openCompiler(brief)) {
      assertThatThrownBy(() -> compiler.compile(HostilePrograms.endless()))
          .isInstanceOf(DeviceException.class)
          .hasMessage(
              "m/endless: running it on trial did not end within 1.0 s, the longest that a run may"
                  + " take; raise roundhouse.worker.watchdog.device-call, or export a program that"
                  + " runs with less, and ends");
      assertThat(children()).isEmpty();
      assertSquares(compiler.compile(HostilePrograms.square()));
    }
  }

  /** How long it runs is up to whoever asks, and nobody asked for as long as that. */
  @Test
  void shouldAcceptAProgramThatEndsOverSmallNumbersOnly() {
    try (ProgramCompiler compiler = device.openCompiler(LIMITS)) {
      byte[] executable = compiler.compile(HostilePrograms.asLongAsAsked());
      device.load("m/asked", executable).close();
      assertSquares(compiler.compile(HostilePrograms.square()));
    }
  }

  /** A trial of it ends the process, so one that lives on had none. */
  @Test
  void shouldTryEqualProgramsOnce() {
    ProgramSource first = HostilePrograms.asLongAsAsked();
    try (ProgramCompiler compiler = device.openCompiler(LIMITS)) {
      compiler.compile(first);
      assertThat(children()).as("its trial was given up").isEmpty();
      byte[] executable = compiler.compile(new ProgramSource("other/asked", first.code()));
      device.load("other/asked", executable).close();
      assertThat(children()).as("it was not tried again").hasSize(1);
    }
  }

  @Test
  void shouldEndATrialThatTakesTooMuchMemory() {
    long limit = 800L << 20;
    CompilerLimits small =
        new CompilerLimits(Duration.ofSeconds(60), limit, Duration.ofSeconds(60));
    try (ProgramCompiler compiler = device.openCompiler(small)) {
      assertThatThrownBy(() -> compiler.compile(HostilePrograms.hungry()))
          .isInstanceOfSatisfying(
              DeviceException.class, e -> assertThat(e.code()).isEqualTo(Code.OUT_OF_MEMORY))
          .hasMessageMatching(
              "m/hungry: running it on trial took \\d+ bytes of memory, more than the limit of "
                  + limit
                  + "; .*");
      assertSquares(compiler.compile(HostilePrograms.square()));
    }
  }

  @Test
  void shouldRunNothingThatNeedsMoreThanARunMay() {
    try (PjrtDevice small =
            PjrtDevice.open(PjrtDeviceOptions.DEFAULTS.withRunBytesLimit(1L << 30));
        ProgramCompiler compiler = small.openCompiler(LIMITS)) {
      assertThatThrownBy(() -> compiler.compile(HostilePrograms.hungry()))
          .isInstanceOfSatisfying(
              DeviceException.class, e -> assertThat(e.code()).isEqualTo(Code.OUT_OF_MEMORY))
          .hasMessageStartingWith("m/hungry needs 2400000000 bytes of outputs");
      assertThat(children()).as("nothing was run, so it is kept").hasSize(1);
    }
  }

  @Test
  void shouldEndACompileThatTakesTooLong() {
    CompilerLimits brief =
        new CompilerLimits(Duration.ofSeconds(4), 64L << 30, Duration.ofSeconds(60));
    try (ProgramCompiler compiler = device.openCompiler(brief)) {
      assertThatThrownBy(() -> compiler.compile(HostilePrograms.explosion()))
          .isInstanceOf(DeviceException.class)
          .hasMessage(
              "m/explosion: compiling did not end within 4.0 s; raise that limit, or export a"
                  + " simpler program");
      assertThat(children()).isEmpty();
    }
  }

  @Test
  void shouldEndACompileThatTakesTooMuchMemory() {
    long limit = 500L << 20;
    CompilerLimits small =
        new CompilerLimits(Duration.ofSeconds(60), limit, Duration.ofSeconds(60));
    try (ProgramCompiler compiler = device.openCompiler(small)) {
      assertThatThrownBy(() -> compiler.compile(HostilePrograms.explosion()))
          .isInstanceOfSatisfying(
              DeviceException.class, e -> assertThat(e.code()).isEqualTo(Code.OUT_OF_MEMORY))
          .hasMessageMatching(
              "m/explosion: compiling took \\d+ bytes of memory, more than the limit of "
                  + limit
                  + "; .*");
      assertSquares(compiler.compile(HostilePrograms.square()));
    }
  }

  @Test
  void shouldEndACompileWhenItIsClosed() throws Exception {
    ProgramCompiler compiler = device.openCompiler(LIMITS);
    CompletableFuture<byte[]> compile =
        CompletableFuture.supplyAsync(() -> compiler.compile(HostilePrograms.explosion()));
    await("a process", () -> !children().isEmpty());
    compiler.close();
    assertThatThrownBy(() -> compile.get(10, TimeUnit.SECONDS))
        .isInstanceOf(ExecutionException.class)
        .hasMessageContaining("the server is stopping");
    assertThatThrownBy(() -> compiler.compile(HostilePrograms.square()))
        .hasMessageContaining("the server is stopping");
    compiler.close();
  }

  @Test
  void shouldStartAnotherProcessWhenTheLastHadNothingToDo() {
    CompilerLimits hasty =
        new CompilerLimits(Duration.ofSeconds(60), 2L << 30, Duration.ofMillis(1));
    try (ProgramCompiler compiler = device.openCompiler(hasty)) {
      for (int i = 0; i < 3; i++) {
        assertSquares(compiler.compile(HostilePrograms.square()));
      }
      await("no process", () -> children().isEmpty());
      assertSquares(compiler.compile(HostilePrograms.square()));
    }
  }

  @Test
  void shouldCompileAsManyAtOnceAsAreAskedFor() {
    try (ProgramCompiler compiler = device.openCompiler(LIMITS)) {
      List<CompletableFuture<byte[]>> compiles =
          Stream.generate(
                  () ->
                      CompletableFuture.supplyAsync(
                          () -> compiler.compile(HostilePrograms.square()),
                          task -> Thread.ofPlatform().start(task)))
              .limit(3)
              .toList();
      compiles.forEach(compile -> assertSquares(compile.join()));
      assertThat(children()).hasSizeBetween(1, 3);
    }
  }

  @Test
  void shouldPassTheCompilersOptions() {
    PjrtDeviceOptions defaults = PjrtDeviceOptions.DEFAULTS;
    PjrtDevice strange =
        PjrtDevice.open(
            new PjrtDeviceOptions(
                defaults.plugin(),
                defaults.client(),
                CompileOptions.DEFAULTS.with("xla_no_such_option", 1),
                0,
                defaults.runBytesLimit()));
    try (ProgramCompiler compiler = strange.openCompiler(LIMITS)) {
      assertThatThrownBy(() -> compiler.compile(HostilePrograms.square()))
          .hasMessageContaining("xla_no_such_option");
    }
    strange.close();
  }

  /** What this process sets for its own plugin the other would not see. */
  @Test
  void shouldPassTheFlags() throws Exception {
    PjrtClient client =
        PjrtClient.create(PjrtPlugin.load(PluginOptions.DEFAULTS), ClientOptions.NONE, 0);
    CompilerSettings settings = CompilerSettings.of(client, PjrtDeviceOptions.DEFAULTS);
    PluginOptions plugin =
        settings.plugin().withCpuThreads(1).withXlaFlags(List.of("--xla_dump_to=" + folder));
    CompilerSettings dumping =
        new CompilerSettings(plugin, settings.client(), 0, settings.compileOptions());
    try (ProgramCompiler compiler = new CompilerProcesses(client, dumping, LIMITS)) {
      assertSquares(compiler.compile(HostilePrograms.square()));
    }
    client.close();
    try (Stream<Path> dumped = Files.list(folder)) {
      assertThat(dumped).isNotEmpty();
    }
  }

  @Test
  void shouldSayWhyAProcessCannotCompileAndNotAskItAgain() {
    PjrtClient client =
        PjrtClient.create(PjrtPlugin.load(PluginOptions.DEFAULTS), ClientOptions.NONE, 0);
    CompilerSettings settings = CompilerSettings.of(client, PjrtDeviceOptions.DEFAULTS);
    CompilerSettings wrong =
        new CompilerSettings(
            settings.plugin().withPath(folder.resolve("none.so")),
            settings.client(),
            0,
            settings.compileOptions());
    try (ProgramCompiler compiler = new CompilerProcesses(client, wrong, LIMITS)) {
      for (int i = 0; i < 2; i++) {
        assertThatThrownBy(() -> compiler.compile(HostilePrograms.square()))
            .isInstanceOf(DeviceException.class)
            .hasMessageStartingWith(
                "m/square: the compiler process cannot compile: no PJRT plugin at ");
      }
    }
    client.close();
  }

  /** As when a package manager replaces the file while the worker runs. */
  @Test
  void shouldRefuseAnotherPluginThanTheOneThatLoads() throws Exception {
    PjrtClient client =
        PjrtClient.create(PjrtPlugin.load(PluginOptions.DEFAULTS), ClientOptions.NONE, 0);
    Path copy = Files.copy(client.plugin().path(), folder.resolve("copy.so"));
    CompilerSettings settings = CompilerSettings.of(client, PjrtDeviceOptions.DEFAULTS);
    CompilerSettings other =
        new CompilerSettings(
            settings.plugin().withPath(copy), settings.client(), 0, settings.compileOptions());
    try (ProgramCompiler compiler = new CompilerProcesses(client, other, LIMITS)) {
      assertThatThrownBy(() -> compiler.compile(HostilePrograms.square()))
          .isInstanceOf(DeviceException.class)
          .hasMessageContaining("was replaced while it was in use");
    }
    client.close();
  }

  @Test
  void shouldSayWhatAProcessSaidThatDoesNotWork() {
    PjrtClient client =
        PjrtClient.create(PjrtPlugin.load(PluginOptions.DEFAULTS), ClientOptions.NONE, 0);
    CompilerSettings settings = CompilerSettings.of(client, PjrtDeviceOptions.DEFAULTS);
    try (ProgramCompiler compiler =
        new CompilerProcesses(client, settings, LIMITS, NoCompiler.class)) {
      assertThatThrownBy(() -> compiler.compile(HostilePrograms.square()))
          .isInstanceOf(DeviceException.class)
          .hasMessage(
              "m/square: the compiler process ended with exit code 3 and said last: I am no"
                  + " compiler");
    }
    client.close();
  }

  @Test
  void shouldTellAProcessThatFindsNoThreadFromOneThatDoesNotWork() {
    PjrtClient client =
        PjrtClient.create(PjrtPlugin.load(PluginOptions.DEFAULTS), ClientOptions.NONE, 0);
    CompilerSettings settings = CompilerSettings.of(client, PjrtDeviceOptions.DEFAULTS);
    try (ProgramCompiler compiler =
        new CompilerProcesses(client, settings, LIMITS, Threadless.class)) {
      assertThatThrownBy(() -> compiler.compile(HostilePrograms.square()))
          .isInstanceOfSatisfying(
              DeviceException.class, e -> assertThat(e.code()).isEqualTo(Code.NO_THREAD));
    }
    client.close();
  }

  @Test
  void shouldTellALimitOfProcessesFromAProgramThatIsNotThere() {
    DeviceException full =
        CompilerProcesses.cannotStart(
            new IOException(
                "Cannot run program \"java\": posix_spawn failed, error: 11 (Resource temporarily unavailable) \nPossible reasons:\n"));
    assertThat(full.code()).isEqualTo(Code.NO_THREAD);
    assertThat(full).hasMessageContaining("pids.max");
    DeviceException absent =
        CompilerProcesses.cannotStart(
            new IOException(
                "Cannot run program \"java\": Exec failed, error: 2 (No such file or directory)"));
    assertThat(absent.code()).isEqualTo(Code.UNSUPPORTED);
  }

  /**
   * A process that is killed can clean nothing up: its compilers see the end of their input. One
   * that is confined cannot delete what it is run from, and the next start does, once nobody holds
   * the lock.
   */
  @ParameterizedTest
  @EnumSource(
      value = CompilerConfinement.class,
      names = {"AUTO", "NONE"})
  void shouldEndWhenTheProcessThatStartedItIsKilled(CompilerConfinement confinement)
      throws Exception {
    Path temporary = Files.createDirectory(folder.resolve("tmp"));
    Process parent =
        new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "--enable-native-access=ALL-UNNAMED",
                "-Djava.io.tmpdir=" + temporary,
                "-cp",
                System.getProperty("java.class.path"),
                EndlessCompile.class.getName(),
                confinement.name())
            .redirectErrorStream(true)
            .redirectOutput(folder.resolve("log").toFile())
            .start();
    try {
      await("a compiler", () -> parent.children().anyMatch(CompilerProcessesTest::isCompiler));
      ProcessHandle compiler = parent.children().findFirst().orElseThrow();
      parent.destroyForcibly().waitFor();
      await("no compiler", () -> !compiler.isAlive());
      if (device.openCompiler(LIMITS.withConfinement(confinement)).confinement().isEmpty()) {
        assertThat(temporary).isEmptyDirectory();
      } else {
        assertThat(lock(temporary)).as("somebody may delete the folder").isTrue();
      }
    } finally {
      parent.destroyForcibly();
    }
  }

  /** Whether nobody holds the lock of the only folder there. */
  private static boolean lock(Path temporary) throws IOException {
    try (Stream<Path> folders = Files.list(temporary)) {
      Path lock = folders.toList().getFirst().resolve("lock");
      try (FileChannel file = FileChannel.open(lock, StandardOpenOption.WRITE)) {
        return file.tryLock() != null;
      }
    }
  }

  /** Once it runs the compiler's code: what the JDK starts is something else for a moment. */
  private static boolean isCompiler(ProcessHandle child) {
    try {
      return Files.readString(Path.of("/proc/" + child.pid() + "/cmdline"))
          .contains(CompilerMain.class.getName());
    } catch (IOException ended) {
      return false;
    }
  }

  private void assertSquares(byte[] executable) {
    try (DeviceProgram program = device.load("m/square", executable);
        DeviceBuffer x =
            device.upload(TYPE, MemorySegment.ofArray(new float[] {1, 2, 3, 4}), HostMemory.COPY);
        Execution run = device.execute(program, new DeviceBuffer[] {x})) {
      float[] squares = new float[4];
      run.output(0).read(0, MemorySegment.ofArray(squares));
      assertThat(squares).containsExactly(1, 4, 9, 16);
    }
  }

  private static List<ProcessHandle> children() {
    return ProcessHandle.current().children().filter(ProcessHandle::isAlive).toList();
  }

  private static void await(String what, BooleanSupplier holds) {
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(30);
    while (!holds.getAsBoolean()) {
      assertThat(System.nanoTime()).as("waited for " + what).isLessThan(end);
      Thread.onSpinWait();
    }
  }

  /** Compiles for ever, in a process of its own, until this one is killed. */
  static final class EndlessCompile {
    private EndlessCompile() {}

    public static void main(String[] args) {
      PjrtDevice.open(PjrtDeviceOptions.DEFAULTS)
          .openCompiler(LIMITS.withConfinement(CompilerConfinement.valueOf(args[0])))
          .compile(HostilePrograms.explosion());
    }
  }

  /** Something else than a compiler. */
  static final class Threadless {
    private Threadless() {}

    public static void main(String[] args) {
      System.err.println("java.lang.OutOfMemoryError: unable to create native thread: possibly");
      Runtime.getRuntime().halt(1);
    }
  }

  static final class NoCompiler {
    private NoCompiler() {}

    public static void main(String[] args) {
      System.err.println("I am no compiler");
      Runtime.getRuntime().halt(3);
    }
  }
}
