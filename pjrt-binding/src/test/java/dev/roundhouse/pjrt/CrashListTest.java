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
import dev.roundhouse.engine.device.ProgramSource;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Random;
import java.util.concurrent.FutureTask;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * One test per known way to crash, hang or mislead XLA:CPU 0.0.1 through the C API. Each shows that
 * it is refused before native code is entered, or that there is no way to ask for it. That this
 * class ends at all is part of what it asserts: most of these end the process when they get
 * through.
 */
class CrashListTest {
  private static final TensorType F32X4 = TensorType.of(DType.F32, 4);
  private static final String ADD =
      """
      func.func public @main(%a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<4xf32> {
        %0 = stablehlo.add %a, %b : tensor<4xf32>
        return %0 : tensor<4xf32>
      }
      """;

  private final Arena arena = Arena.ofShared();
  private PjrtDevice device;

  @BeforeEach
  void openDevice() {
    device = PjrtDevice.open(PjrtDeviceOptions.DEFAULTS);
  }

  /** The process survived, the device still computes, and nothing leaked. */
  @AfterEach
  void shouldStillWork() {
    try (DeviceProgram add = compile(ADD);
        DeviceBuffer x = upload(F32X4, 16);
        Execution run = device.execute(add, new DeviceBuffer[] {x, x})) {
      run.await();
    }
    assertThat(device.openHandles()).isZero();
    device.close();
    arena.close();
  }

  @Nested
  class Crashes {
    @Test
    void shouldRefuseCodeThatIsNullOrEmpty() {
      refused(Code.INVALID_ARGUMENT, () -> device.compile(new ProgramSource("none", nothing())));
      refused(Code.INVALID_ARGUMENT, () -> device.compile(new ProgramSource("empty", new byte[0])));
    }

    /** Bits behind the header are upstream's: whoever reads an artifact checks its digest. */
    @Test
    void shouldRefuseBytecodeWhoseHeaderIsDamaged() {
      byte[] magic = {'M', 'L', (byte) 0xEF, 'R'};
      refused(Code.INVALID_ARGUMENT, () -> device.compile(new ProgramSource("cut", magic)));
      byte[] artifact = Arrays.copyOf(magic, 64);
      for (int bit = 0; bit < 32; bit++) {
        byte[] flipped = artifact.clone();
        flipped[bit / 8] ^= (byte) (1 << bit % 8);
        refused(Code.INVALID_ARGUMENT, () -> device.compile(new ProgramSource("flipped", flipped)));
      }
    }

    @Test
    void shouldRefuseASerialisedExecutableWithAnyBitFlipped() {
      byte[] good;
      try (PjrtExecutable program = device.compile(source(ADD))) {
        good = program.serialize();
      }
      Random random = new Random(41);
      for (int flip = 0; flip < 300; flip++) {
        byte[] bad = good.clone();
        // Every bit of the header, then a sample of the payload's.
        int bit = flip < 120 ? flip * 8 : random.nextInt(bad.length * 8);
        bad[bit / 8] ^= (byte) (1 << bit % 8);
        refused(Code.INVALID_ARGUMENT, () -> device.load("flipped", bad));
      }
      for (int length : new int[] {0, 1, 104, good.length / 2, good.length - 1}) {
        refused(Code.INVALID_ARGUMENT, () -> device.load("cut", Arrays.copyOf(good, length)));
      }
    }

    /** There is no way to leave them out: every CompileOptions encodes both. */
    @Test
    void shouldAlwaysAskForOneReplicaAndOnePartition() {
      byte[] encoded = CompileOptions.DEFAULTS.encode(0);
      ProtoReader options = new ProtoReader(encoded);
      assertThat(options.next()).isTrue();
      assertThat(options.field()).isEqualTo(3);
      ProtoReader build = options.message();
      long[] fields = new long[10];
      while (build.next()) {
        if (build.field() < 9) {
          fields[build.field()] = build.varint();
        }
      }
      assertThat(fields[1]).as("device_ordinal").isEqualTo(-1);
      assertThat(fields[4]).as("num_replicas").isEqualTo(1);
      assertThat(fields[5]).as("num_partitions").isEqualTo(1);
    }

    @Test
    void shouldRefuseAFunctionThatCallsItself() {
      refusedCompile(
          """
          func.func public @main(%a: tensor<4xf32>) -> tensor<4xf32> {
            %0 = func.call @main(%a) : (tensor<4xf32>) -> tensor<4xf32>
            return %0 : tensor<4xf32>
          }
          """);
    }

    /** XLA overflows 64 KB; the binding compiles on a stack of its own whoever calls. */
    @Test
    void shouldCompileWhenTheCallersStackIsSmall() throws Exception {
      StringBuilder chain = new StringBuilder();
      for (int i = 0; i < 300; i++) {
        chain.append(
            "%%%d = stablehlo.sine %%%s : tensor<4xf32>%n".formatted(i, i == 0 ? "a" : i - 1));
      }
      String deep =
          "func.func public @main(%%a: tensor<4xf32>) -> tensor<4xf32> { %s return %%299 : tensor<4xf32> }"
              .formatted(chain);
      FutureTask<Integer> compile =
          new FutureTask<>(
              () -> {
                try (DeviceProgram program = compile(deep)) {
                  return program.parameters().size();
                }
              });
      Thread caller = new Thread(null, compile, "small-stack", 64 << 10);
      caller.start();
      assertThat(compile.get()).isEqualTo(1);
    }

    @Test
    void shouldRefuseNullAtExecute() {
      try (DeviceProgram add = compile(ADD);
          DeviceBuffer x = upload(F32X4, 16)) {
        refused(
            Code.INVALID_ARGUMENT,
            () ->
                device.execute(add, new DeviceBuffer[] {x, CrashListTest.<DeviceBuffer>nothing()}));
        refused(Code.INVALID_ARGUMENT, () -> device.execute(nothing(), new DeviceBuffer[] {x, x}));
      }
    }

    @Test
    void shouldRefuseUseAfterClose() {
      DeviceProgram add = compile(ADD);
      DeviceBuffer open = upload(F32X4, 16);
      DeviceBuffer closed = upload(F32X4, 16);
      closed.close();
      refused(Code.CLOSED, () -> device.execute(add, new DeviceBuffer[] {open, closed}));
      add.close();
      refused(Code.CLOSED, () -> device.execute(add, new DeviceBuffer[] {open, open}));
      open.close();
    }

    @Test
    void shouldIgnoreADoubleClose() {
      DeviceProgram add = compile(ADD);
      DeviceBuffer x = upload(F32X4, 16);
      Execution run = device.execute(add, new DeviceBuffer[] {x, x});
      DeviceBuffer output = run.output(0);
      for (int times = 0; times < 2; times++) {
        output.close();
        run.close();
        x.close();
        add.close();
      }
    }

    @Test
    void shouldRefuseHostDataAtAddressZero() {
      for (HostMemory use : HostMemory.values()) {
        refused(Code.INVALID_ARGUMENT, () -> device.upload(F32X4, MemorySegment.NULL, use));
        refused(
            Code.INVALID_ARGUMENT,
            () -> device.upload(F32X4, MemorySegment.NULL.reinterpret(16), use));
      }
    }

    @Test
    void shouldRefuseDimsLargerThanTheMemoryGiven() {
      MemorySegment data = arena.allocate(16, 64);
      for (HostMemory use : HostMemory.values()) {
        for (TensorType type :
            new TensorType[] {
              TensorType.of(DType.F32, 5),
              TensorType.of(DType.F32, 1L << 38),
              TensorType.of(DType.F32, 1L << 40, 1L << 40),
              TensorType.of(DType.F32, 0, 1L << 40, 1L << 40)
            }) {
          refused(Code.INVALID_ARGUMENT, () -> device.upload(type, data, use));
        }
      }
    }

    /** INVALID, TOKEN and numbers out of range have no DType; BYTES has no number. */
    @Test
    void shouldOnlyKnowElementTypesThatDevicesHave() {
      for (DType dtype : DType.values()) {
        assertThat(ElementType.of(dtype).isPresent())
            .as(dtype.token())
            .isEqualTo(dtype.fixedSize());
      }
      for (int bufferType : new int[] {-1, 0, 23, 30, 999}) {
        assertThat(ElementType.fromBufferType(bufferType)).isEmpty();
      }
      refused(
          Code.INVALID_ARGUMENT,
          () ->
              device.upload(
                  TensorType.of(DType.BYTES, 4), arena.allocate(16, 64), HostMemory.COPY));
    }

    /** No upload takes strides: native code is given dims, and always says dense row-major. */
    @Test
    void shouldOfferNoWayToPassStrides() {
      assertThat(PjrtClient.class.getDeclaredMethods())
          .filteredOn(method -> method.getName().equals("bufferFromHost"))
          .singleElement()
          .satisfies(
              method ->
                  assertThat(Arrays.stream(method.getParameterTypes()).filter(Class::isArray))
                      .as("dims, and where the transfer's event is put")
                      .containsExactly(long[].class, long[].class));
    }

    @Test
    void shouldRefuseEverythingOnAClosedClient() {
      PjrtClient client =
          PjrtClient.create(PjrtPlugin.load(PluginOptions.DEFAULTS), ClientOptions.NONE, 0);
      client.close();
      client.close();
      refused(Code.CLOSED, () -> client.compile("add", bytes(ADD), CompileOptions.DEFAULTS));
      refused(Code.CLOSED, () -> client.upload(F32X4, arena.allocate(16, 64), HostMemory.COPY));
      refused(Code.CLOSED, client::memory);
    }

    @Test
    void shouldRefuseADeviceThatIsNotThere() {
      PjrtPlugin plugin = PjrtPlugin.load(PluginOptions.DEFAULTS);
      for (int ordinal : new int[] {-1, 1, 99}) {
        refused(
            Code.INVALID_ARGUMENT, () -> PjrtClient.create(plugin, ClientOptions.NONE, ordinal));
      }
    }

    @Test
    void shouldRefuseClientOptionsOfTheWrongType() {
      refused(Code.INVALID_ARGUMENT, () -> ClientOptions.NONE.with("cpu_device_count", "2"));
      refused(Code.INVALID_ARGUMENT, () -> ClientOptions.NONE.with("cpu_device_count", 0));
      refused(Code.INVALID_ARGUMENT, () -> ClientOptions.NONE.with("memory_fraction", 1L));
      refused(Code.INVALID_ARGUMENT, () -> ClientOptions.NONE.with("preallocate", "true"));
    }

    @Test
    void shouldRefuseToCloseAClientWithLiveHandles() {
      try (DeviceProgram add = compile(ADD);
          DeviceBuffer x = upload(F32X4, 16);
          Execution run = device.execute(add, new DeviceBuffer[] {x, x})) {
        assertThatThrownBy(device::close)
            .isInstanceOf(DeviceException.class)
            .hasMessageContaining("program test")
            .hasMessageContaining("buffer f32[4]")
            .hasMessageContaining("run of test");
        run.await();
      }
    }

    @Test
    void shouldRefuseBuffersAndProgramsOfAnotherClient() {
      try (PjrtDevice other = PjrtDevice.open(PjrtDeviceOptions.DEFAULTS);
          DeviceProgram add = compile(ADD);
          DeviceBuffer here = upload(F32X4, 16);
          DeviceBuffer there = other.upload(F32X4, arena.allocate(16, 64), HostMemory.COPY)) {
        refused(Code.INVALID_ARGUMENT, () -> device.execute(add, new DeviceBuffer[] {here, there}));
        refused(Code.INVALID_ARGUMENT, () -> other.execute(add, new DeviceBuffer[] {there, there}));
      }
    }
  }

  @Nested
  class Hangs {
    private static final String INFEED =
        """
        func.func public @main(%a: tensor<4xf32>) -> tensor<4xf32> {
          %t = stablehlo.create_token : !stablehlo.token
          %0:2 = "stablehlo.infeed"(%t) {infeed_config="", layout=[[0]]} : (!stablehlo.token) -> (tensor<4xf32>, !stablehlo.token)
          return %0#0 : tensor<4xf32>
        }
        """;
    private static final String OUTFEED =
        """
        func.func public @main(%a: tensor<4xf32>) -> tensor<4xf32> {
          %t = stablehlo.create_token : !stablehlo.token
          %0 = "stablehlo.outfeed"(%a, %t) {outfeed_config=""} : (tensor<4xf32>, !stablehlo.token) -> !stablehlo.token
          return %a : tensor<4xf32>
        }
        """;
    private static final String SEND =
        """
        func.func public @main(%a: tensor<4xf32>) -> tensor<4xf32> {
          %t = stablehlo.create_token : !stablehlo.token
          %0 = "stablehlo.send"(%a, %t) {channel_handle = #stablehlo.channel_handle<handle = 1, type = 2>, is_host_transfer = true} : (tensor<4xf32>, !stablehlo.token) -> !stablehlo.token
          return %a : tensor<4xf32>
        }
        """;
    private static final String RECV =
        """
        func.func public @main(%a: tensor<4xf32>) -> tensor<4xf32> {
          %t = stablehlo.create_token : !stablehlo.token
          %0:2 = "stablehlo.recv"(%t) {channel_handle = #stablehlo.channel_handle<handle = 1, type = 3>, is_host_transfer = true} : (!stablehlo.token) -> (tensor<4xf32>, !stablehlo.token)
          return %0#0 : tensor<4xf32>
        }
        """;
    private static final String ENDLESS =
        """
        func.func public @main(%a: tensor<i32>) -> tensor<i32> {
          %0 = stablehlo.while(%x = %a) : tensor<i32>
          cond {
            %t = stablehlo.constant dense<true> : tensor<i1>
            stablehlo.return %t : tensor<i1>
          } do {
            %y = stablehlo.add %x, %x : tensor<i32>
            stablehlo.return %y : tensor<i32>
          }
          return %0 : tensor<i32>
        }
        """;

    @ParameterizedTest
    @ValueSource(strings = {INFEED, OUTFEED, SEND, RECV})
    void shouldRefuseTextThatTalksToAHost(String text) {
      refusedCompile(text);
    }

    /** The same for bytecode, which is not read before: by what the compiler made of it. */
    @ParameterizedTest
    @ValueSource(strings = {INFEED, OUTFEED, SEND, RECV, ENDLESS})
    void shouldRefuseACompiledProgramThatWouldNotEnd(String text) {
      PjrtClient client =
          PjrtClient.create(PjrtPlugin.load(PluginOptions.DEFAULTS), ClientOptions.NONE, 0);
      assertThatThrownBy(() -> client.compile("hang", bytes(text), CompileOptions.DEFAULTS).close())
          .isInstanceOf(DeviceException.class)
          .hasMessageStartingWith("hang: ");
      assertThat(client.openHandles()).isZero();
      client.close();
    }

    /** Only the plain kind: whether a loop ends cannot be decided; a watchdog is for the rest. */
    @Test
    void shouldRefuseALoopWhoseConditionIsAlwaysTrue() {
      refusedCompile(ENDLESS);
    }

    @Test
    void shouldRefuseOutputsOfAbsurdSize() {
      assertThatThrownBy(
              () ->
                  compile(
                      """
                      func.func public @main(%a: tensor<f32>) -> tensor<274877906944xf32> {
                        %0 = stablehlo.broadcast_in_dim %a, dims = [] : (tensor<f32>) -> tensor<274877906944xf32>
                        return %0 : tensor<274877906944xf32>
                      }
                      """))
          .isInstanceOfSatisfying(
              DeviceException.class, e -> assertThat(e.code()).isEqualTo(Code.OUT_OF_MEMORY))
          .hasMessageContaining("1099511627776 bytes of outputs");
    }

    @Test
    void shouldRefuseScratchBeyondTheLimit() {
      PjrtDevice small = PjrtDevice.open(PjrtDeviceOptions.DEFAULTS.withRunBytesLimit(1 << 20));
      assertThatThrownBy(
              () ->
                  small.compile(
                      source(
                          """
                          func.func public @main(%a: tensor<1024x4xf32>) -> tensor<1024x4xf32> {
                            %0 = stablehlo.dot_general %a, %a, contracting_dims = [1] x [1] : (tensor<1024x4xf32>, tensor<1024x4xf32>) -> tensor<1024x1024xf32>
                            %1 = stablehlo.dot_general %0, %a, contracting_dims = [1] x [0] : (tensor<1024x1024xf32>, tensor<1024x4xf32>) -> tensor<1024x4xf32>
                            return %1 : tensor<1024x4xf32>
                          }
                          """)))
          .isInstanceOfSatisfying(
              DeviceException.class, e -> assertThat(e.code()).isEqualTo(Code.OUT_OF_MEMORY))
          .hasMessageContaining("limit of 1048576 bytes");
      small.close();
    }
  }

  @Nested
  class SilentlyWrong {
    @Test
    void shouldRefuseArgumentsOfTheSameSizeAndAnotherDtype() {
      refusedArgument(TensorType.of(DType.I32, 4), "argument 1 is i32[4], expected f32[4]");
    }

    @Test
    void shouldRefuseArgumentsOfTheSameSizeAndAnotherShape() {
      refusedArgument(TensorType.of(DType.F32, 2, 2), "argument 1 is f32[2,2], expected f32[4]");
    }

    @Test
    void shouldRefuseToReadAClosedBuffer() {
      DeviceBuffer buffer = upload(F32X4, 16);
      buffer.close();
      refused(Code.CLOSED, () -> buffer.read(0, arena.allocate(16)));
    }

    /**
     * Callers cannot name indices: all arguments are kept, even where the module asks to donate.
     */
    @Test
    void shouldNeverDonateAnArgument() {
      String donating =
          """
          func.func public @main(%a: tensor<4xf32> {tf.aliasing_output = 0 : i32}, %b: tensor<4xf32>) -> tensor<4xf32> {
            %0 = stablehlo.add %a, %b : tensor<4xf32>
            return %0 : tensor<4xf32>
          }
          """;
      for (HostMemory use : HostMemory.values()) {
        float[] values = {1, 2, 3, 4};
        MemorySegment host = arena.allocate(16, 64).copyFrom(MemorySegment.ofArray(values));
        try (DeviceProgram program = compile(donating);
            DeviceBuffer weight = device.upload(F32X4, host, use)) {
          for (int runs = 0; runs < 3; runs++) {
            try (Execution run = device.execute(program, new DeviceBuffer[] {weight, weight})) {
              assertThat(floats(run.output(0))).containsExactly(2, 4, 6, 8);
            }
          }
          assertThat(floats(weight)).containsExactly(values);
          assertThat(host.toArray(java.lang.foreign.ValueLayout.JAVA_FLOAT))
              .containsExactly(values);
        }
      }
    }

    /** Semantics are an enum of two; there is no number to get wrong, nor a mutable kind. */
    @Test
    void shouldOfferOnlyCopyAndImmutableAlias() {
      assertThat(HostMemory.values()).containsExactly(HostMemory.COPY, HostMemory.ALIAS);
      assertThat(publicUploads()).isNotEmpty().allMatch(CrashListTest::takesHostMemory);
    }

    @Test
    void shouldRefuseNegativeDims() {
      assertThatThrownBy(() -> TensorType.of(DType.F32, -4))
          .isInstanceOf(IllegalArgumentException.class);
      refused(
          Code.INVALID_ARGUMENT,
          () ->
              device.upload(TensorType.of(DType.F32, -1), arena.allocate(4, 64), HostMemory.COPY));
    }

    @Test
    void shouldRefuseModulesForSeveralPartitions() {
      refusedCompile(
          "module attributes {mhlo.num_partitions = 2 : i32, mhlo.num_replicas = 1 : i32} { "
              + ADD
              + " }");
    }

    /** The plugin would take row-major bytes, and give column-major ones, without a word. */
    @ParameterizedTest
    @ValueSource(
        strings = {
          """
          func.func public @main(%a: tensor<2x3xf32> {mhlo.layout_mode = "{0,1}"}) -> tensor<2x3xf32> {
            return %a : tensor<2x3xf32>
          }
          """,
          """
          func.func public @main(%a: tensor<2x3xf32>) -> (tensor<2x3xf32> {mhlo.layout_mode = "{0,1}"}) {
            %0 = stablehlo.add %a, %a : tensor<2x3xf32>
            return %0 : tensor<2x3xf32>
          }
          """
        })
    void shouldRefuseParametersAndResultsThatAreNotRowMajor(String text) {
      assertThatThrownBy(() -> compile(text).close())
          .isInstanceOfSatisfying(
              DeviceException.class, e -> assertThat(e.code()).isEqualTo(Code.UNSUPPORTED))
          .hasMessageContaining("not row-major");
    }

    @Test
    void shouldRefuseToUseABufferWhoseAliasedMemoryIsGone() {
      Arena gone = Arena.ofShared();
      DeviceBuffer buffer = device.upload(F32X4, gone.allocate(16, 64), HostMemory.ALIAS);
      gone.close();
      try (DeviceProgram add = compile(ADD)) {
        refused(Code.CLOSED, () -> device.execute(add, new DeviceBuffer[] {buffer, buffer}));
        refused(Code.CLOSED, () -> buffer.read(0, arena.allocate(16)));
      }
      buffer.close();
    }
  }

  @Nested
  class OutOfMemory {
    /** Scratch that cannot be allocated comes as INTERNAL, and only when awaited. */
    @Test
    void shouldRecogniseBothOfThePluginsSigns() {
      assertThat(PjrtStatus.exception("await", 13, "Out of memory allocating 1 bytes.").code())
          .isEqualTo(Code.OUT_OF_MEMORY);
      assertThat(PjrtStatus.exception("execute", 8, "anything").code())
          .isEqualTo(Code.OUT_OF_MEMORY);
      assertThat(PjrtStatus.exception("await", 13, "anything").code()).isEqualTo(Code.INTERNAL);
    }
  }

  private void refusedArgument(TensorType type, String message) {
    try (DeviceProgram add = compile(ADD);
        DeviceBuffer right = upload(F32X4, 16);
        DeviceBuffer wrong = upload(type, 16)) {
      assertThatThrownBy(() -> device.execute(add, new DeviceBuffer[] {right, wrong}))
          .isInstanceOf(DeviceException.class)
          .hasMessageContaining(message);
    }
  }

  private void refusedCompile(String text) {
    refused(Code.INVALID_ARGUMENT, () -> compile(text).close());
  }

  private static void refused(Code code, ThrowingCallable call) {
    assertThatThrownBy(call)
        .isInstanceOfSatisfying(
            DeviceException.class,
            refusal -> assertThat(refusal.code()).as(refusal.getMessage()).isEqualTo(code));
  }

  private DeviceProgram compile(String text) {
    return device.compile(source(text));
  }

  private static ProgramSource source(String text) {
    return new ProgramSource("test", bytes(text));
  }

  private static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  private DeviceBuffer upload(TensorType type, long size) {
    return device.upload(type, arena.allocate(size, 64), HostMemory.COPY);
  }

  private static float[] floats(DeviceBuffer buffer) {
    float[] values = new float[Math.toIntExact(buffer.type().shape().elementCount())];
    buffer.read(0, MemorySegment.ofArray(values));
    return values;
  }

  private static Method[] publicUploads() {
    return Arrays.stream(new Class<?>[] {PjrtDevice.class, PjrtClient.class})
        .flatMap(type -> Arrays.stream(type.getMethods()))
        .filter(method -> method.getName().equals("upload"))
        .toArray(Method[]::new);
  }

  private static boolean takesHostMemory(Method upload) {
    return Arrays.asList(upload.getParameterTypes())
        .equals(Arrays.asList(TensorType.class, MemorySegment.class, HostMemory.class));
  }

  /** A null for callers that are not null-checked at compile time. */
  @SuppressWarnings({"NullAway", "TypeParameterUnusedInFormals"})
  private static <T extends @Nullable Object> T nothing() {
    return null;
  }
}
