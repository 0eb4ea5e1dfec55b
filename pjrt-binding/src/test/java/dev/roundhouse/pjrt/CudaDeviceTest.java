package dev.roundhouse.pjrt;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.roundhouse.bundle.tensor.DType;
import dev.roundhouse.bundle.tensor.TensorType;
import dev.roundhouse.engine.device.Arrival;
import dev.roundhouse.engine.device.Device;
import dev.roundhouse.engine.device.Device.HostMemory;
import dev.roundhouse.engine.device.DeviceBuffer;
import dev.roundhouse.engine.device.DeviceDescription;
import dev.roundhouse.engine.device.DeviceException;
import dev.roundhouse.engine.device.DeviceException.Code;
import dev.roundhouse.engine.device.DeviceProgram;
import dev.roundhouse.engine.device.DeviceProvider;
import dev.roundhouse.engine.device.PartedUpload;
import dev.roundhouse.engine.device.PinnedMemory;
import dev.roundhouse.engine.device.ProgramSource;
import dev.roundhouse.engine.numerics.Numerics;
import dev.roundhouse.engine.numerics.Numerics.ProbeWhen;
import dev.roundhouse.engine.numerics.NumericsException;
import dev.roundhouse.engine.numerics.NumericsPolicy;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import java.util.OptionalInt;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What is CUDA's own, with a plugin that only says that it is CUDA's. */
class CudaDeviceTest {
  private static final TensorType SCALAR = TensorType.of(DType.F32);
  private static final ProgramSource IDENTITY =
      new ProgramSource(
          "identity",
          "func.func public @main(%x: tensor<f32>) -> tensor<f32> { return %x : tensor<f32> }"
              .getBytes(StandardCharsets.UTF_8));

  @TempDir private Path folder;

  @Test
  void shouldTellMemoryThatIsCountedAndNothingElse() {
    try (PjrtDevice device = open()) {
      assertThat(device.memory().inUse()).hasValue(1000);
      assertThat(device.memory().limit()).hasValue(1 << 30);
      assertThat(device.memory().peak()).isEmpty();
      assertThat(device.memory().largestFreeBlock()).isEmpty();
    }
    try (PjrtDevice device = open("FAKE_LARGEST_FREE_BLOCK=0")) {
      assertThat(device.memory().largestFreeBlock()).as("none is free").hasValue(0);
    }
  }

  @Test
  void shouldKnowByTheGpusCapabilityWhetherItHasTf32() {
    try (PjrtDevice old = open("FAKE_CAPABILITY=\"7.5\"");
        PjrtDevice device = open()) {
      assertThat(old.description().attributes()).containsEntry("compute_capability", "7.5");
      assertThatThrownBy(() -> Numerics.start(old, NumericsPolicy.TF32, ProbeWhen.AUTO))
          .isInstanceOf(NumericsException.class)
          .hasMessageContaining("has no TF32");
      assertThat(Numerics.start(old, NumericsPolicy.AUTO, ProbeWhen.AUTO).summary())
          .contains("TF32 algorithms in f32", "probe: in f32");
      assertThat(Numerics.start(device, NumericsPolicy.TF32, ProbeWhen.AUTO).summary())
          .contains("programs as they are", "probe: in f32");
    }
  }

  @Test
  void shouldSayWhichGpuItIs() {
    ClientOptions visible = ClientOptions.NONE.with("visible_devices", new long[] {3, 7});
    PjrtDeviceOptions defaults = options("FAKE_GPUS=8");
    PjrtDeviceOptions options =
        new PjrtDeviceOptions(
            defaults.plugin(), visible, defaults.compile(), 1, defaults.runBytesLimit());
    try (PjrtDevice device = PjrtDevice.open(options)) {
      DeviceDescription description = device.description();
      assertThat(description.attributes()).containsEntry("opened_gpus", "3.7");
      assertThat(description.platform()).isEqualTo("cuda");
      assertThat(description.ordinal()).isEqualTo(7);
      assertThat(description.hostVisible()).isFalse();
      assertThat(description.onHostProcessors()).isFalse();
    }
  }

  /** The plugin takes memory of every GPU that it opens. */
  @Test
  void shouldOpenNoGpuButTheOneThatIsMeant() {
    try (PjrtDevice device = PjrtDevice.open(options("FAKE_GPUS=8").withOrdinal(5))) {
      assertThat(device.description().attributes()).containsEntry("opened_gpus", "5");
      assertThat(device.description().ordinal()).isEqualTo(5);
    }
    DeviceProvider.Settings embedded =
        DeviceProvider.Settings.DEFAULT
            .withPlatform(PluginOptions.CUDA)
            .withPlugin(plugin("FAKE_GPUS=8"))
            .withOrdinal(6);
    try (Device device = new PjrtDeviceProvider().open(embedded)) {
      assertThat(device.description().attributes()).containsEntry("opened_gpus", "6");
      assertThat(device.description().ordinal()).isEqualTo(6);
    }
  }

  @Test
  void shouldNameTheGpuWhenThereIsNoneOfThatNumber() {
    assertThatThrownBy(() -> PjrtDevice.open(options("FAKE_GPUS=8").withOrdinal(8)))
        .isInstanceOf(DeviceException.class)
        .hasMessageContainingAll("visible_devices=[8]", "no supported devices", "nvidia-smi");
    assertThatThrownBy(() -> options().withOrdinal(-1))
        .isInstanceOf(DeviceException.class)
        .hasMessageContaining("ordinal -1");
  }

  @Test
  void shouldRefuseAPluginOfAnotherPlatform() {
    PluginOptions cpu = PluginOptions.DEFAULTS.withPath(plugin());
    assertThatThrownBy(() -> PjrtDevice.open(PjrtDeviceOptions.DEFAULTS.withPlugin(cpu)))
        .isInstanceOf(DeviceException.class)
        .hasMessageContaining("is of platform 'cuda', not 'cpu'");
  }

  @Test
  void shouldRefuseThreadsOfTheCpuOnAGpu() {
    DeviceProvider.Settings settings =
        new DeviceProvider.Settings(
            PluginOptions.CUDA, Optional.of(plugin()), 0, OptionalInt.of(4), false);
    assertThatThrownBy(() -> new PjrtDeviceProvider().open(settings))
        .isInstanceOf(DeviceException.class)
        .hasMessageContaining("cpuThreads is 4");
  }

  /** Java's own view of the environment does not change; NVIDIA's libraries have the process's. */
  @Test
  void shouldForbidTf32ToNvidiasLibrariesBeforeTheyAreLoaded() {
    PjrtDeviceOptions exact =
        FakeCudaPlugin.options(plugin()).withPlugin(cuda(plugin()).withoutTf32());
    try (PjrtDevice device = PjrtDevice.open(exact)) {
      assertThat(device.description().attributes()).containsEntry("tf32_override", "0");
    }
    DeviceProvider.Settings embedded =
        DeviceProvider.Settings.DEFAULT
            .withPlatform(PluginOptions.CUDA)
            .withPlugin(plugin())
            .withoutTf32();
    try (Device device = new PjrtDeviceProvider().open(embedded)) {
      assertThat(device.description().attributes()).containsEntry("tf32_override", "0");
    }
  }

  @Test
  void shouldRefuseToForbidTf32WhenThePluginIsLoadedAlready() {
    open().close();
    assertThatThrownBy(() -> PjrtPlugin.load(cuda(plugin()).withoutTf32()))
        .isInstanceOf(DeviceException.class)
        .hasMessageContainingAll("loaded already", "NVIDIA_TF32_OVERRIDE=0", "process of its own");
  }

  private static PluginOptions cuda(Path plugin) {
    return PluginOptions.DEFAULTS.withPlatform(PluginOptions.CUDA).withPath(plugin);
  }

  @Test
  void shouldCountPinnedMemoryAmongItsOpenHandles() {
    try (PjrtDevice device = open();
        Arena arena = Arena.ofShared()) {
      MemorySegment pages = arena.allocate(PinnedMemory.PAGE_BYTES, PinnedMemory.PAGE_BYTES);
      try (PinnedMemory pin = device.pin(pages).orElseThrow()) {
        assertThat(pin).isNotNull();
        assertThat(device.openHandles()).isEqualTo(1);
        assertThatThrownBy(device::close)
            .isInstanceOf(DeviceException.class)
            .hasMessageContaining("4096 bytes of pinned memory");
      }
      assertThat(device.openHandles()).isZero();
    }
  }

  @Test
  void shouldGoOnWithoutPinningWhereTheSystemDoesNotLetIt() {
    try (PjrtDevice device = open("FAKE_LOCKED_MEMORY");
        Arena arena = Arena.ofShared()) {
      MemorySegment pages = arena.allocate(PinnedMemory.PAGE_BYTES, PinnedMemory.PAGE_BYTES);
      assertThat(device.pin(pages)).isEmpty();
      assertThat(device.pin(pages)).as("nothing is kept of it").isEmpty();
      assertThat(device.openHandles()).isZero();
    }
  }

  @Test
  void shouldLendMemoryToAnUploadAndWaitForItOnClosing() {
    try (PjrtDevice device = open("FAKE_TRANSFER_MILLIS=1000");
        Arena arena = Arena.ofShared()) {
      MemorySegment data = arena.allocate(4, 64);
      DeviceBuffer lent = device.upload(SCALAR, data, HostMemory.ALIAS);
      assertThat(device.memory().inUse()).as("still on its way").hasValue(1004);
      lent.close();
      assertThat(device.memory().inUse()).hasValue(1000);
      data.fill((byte) 1); // the caller's again: the plugin sees to that when the device is closed
    }
  }

  @Test
  void shouldNotKeepMemoryThatWasCopied() {
    try (PjrtDevice device = open("FAKE_TRANSFER_MILLIS=1000");
        Arena arena = Arena.ofShared()) {
      MemorySegment data = arena.allocate(4, 64);
      MemorySegment heap = MemorySegment.ofArray(new float[1]);
      try (DeviceBuffer copied = device.upload(SCALAR, data, HostMemory.COPY);
          DeviceBuffer ofHeap = device.upload(SCALAR, heap, HostMemory.ALIAS)) {
        assertThat(device.memory().inUse()).hasValue(1000);
        data.fill((byte) 1);
        assertThat(copied.type()).isEqualTo(ofHeap.type());
      }
    }
  }

  /** That the rule is kept is worth something only if the plugin sees when it is not. */
  @Test
  void shouldBeToldByThePluginWhenLentMemoryChanges() {
    PjrtDevice device = open("FAKE_TRANSFER_MILLIS=50");
    try (Arena arena = Arena.ofShared()) {
      MemorySegment data = arena.allocate(4, 64);
      DeviceBuffer lent = device.upload(SCALAR, data, HostMemory.ALIAS);
      data.fill((byte) 1);
      lent.close();
    }
    assertThatThrownBy(device::close).hasMessageContaining("changed under an upload");
  }

  @Test
  void shouldLendPartsUntilTheyHaveArrivedAndWaitForThemOnClosing() {
    try (PjrtDevice device = open("FAKE_TRANSFER_MILLIS=1000");
        Arena arena = Arena.ofShared()) {
      PartedUpload upload = device.uploadInParts(TensorType.of(DType.F32, 3)).orElseThrow();
      MemorySegment data = arena.allocate(12, 64);
      Arrival first = upload.write(data.asSlice(0, 4));
      upload.write(data.asSlice(4, 4));
      assertThat(first.isReady()).isFalse();
      assertThat(device.memory().inUse()).as("both on their way").hasValue(1008);
      first.awaitReady();
      assertThat(first.isReady()).isTrue();
      upload.buffer().close();
      assertThat(device.memory().inUse()).hasValue(1000);
      data.fill((byte) 1); // the caller's again: the plugin sees to that when the device is closed
    }
  }

  @Test
  void shouldBeToldByThePluginWhenAPartChangesOnItsWay() {
    PjrtDevice device = open("FAKE_TRANSFER_MILLIS=50");
    try (Arena arena = Arena.ofShared()) {
      MemorySegment data = arena.allocate(4, 64);
      PartedUpload upload = device.uploadInParts(SCALAR).orElseThrow();
      upload.write(data);
      data.fill((byte) 1);
      upload.buffer().close();
    }
    assertThatThrownBy(device::close).hasMessageContaining("changed under an upload");
  }

  /** XLA ends the process when it is given more of a tensor that has failed. */
  @Test
  void shouldTakeNoFurtherPartWhenOneHasNotArrived() {
    try (PjrtDevice device = open("FAKE_LOST_PART=1");
        Arena arena = Arena.ofShared()) {
      PartedUpload upload = device.uploadInParts(TensorType.of(DType.F32, 4)).orElseThrow();
      MemorySegment data = arena.allocate(16, 64);
      try (DeviceBuffer buffer = upload.buffer()) {
        upload.write(data.asSlice(0, 4)).awaitReady();
        upload.write(data.asSlice(4, 4)).awaitReady();
        for (int attempt = 0; attempt < 2; attempt++) {
          assertThatThrownBy(() -> upload.write(data.asSlice(8, 4)))
              .isInstanceOf(DeviceException.class)
              .hasMessageContaining("the link lost a part");
        }
        assertThatThrownBy(buffer::awaitReady).isInstanceOf(DeviceException.class);
      }
      assertThat(device.openHandles()).isZero();
    }
  }

  @Test
  void shouldTellWhoeverWaitsWhenTheLastPartHasNotArrived() {
    try (PjrtDevice device = open("FAKE_LOST_PART=1");
        Arena arena = Arena.ofShared()) {
      PartedUpload upload = device.uploadInParts(TensorType.of(DType.F32, 2)).orElseThrow();
      MemorySegment data = arena.allocate(8, 64);
      try (DeviceBuffer buffer = upload.buffer()) {
        upload.write(data.asSlice(0, 4));
        Arrival last = upload.write(data.asSlice(4, 4));
        assertThatThrownBy(last::awaitReady).hasMessageContaining("the link lost a part");
        assertThat(last.isReady()).isTrue();
        assertThatThrownBy(() -> buffer.read(0, data)).hasMessageContaining("lost a part");
      }
      assertThat(device.openHandles()).isZero();
    }
  }

  @Test
  void shouldTakeTensorsOnlyWholeWhereThePluginHasNoParts() {
    try (PjrtDevice device = open("FAKE_WHOLE_ONLY")) {
      assertThat(device.uploadInParts(SCALAR)).isEmpty();
      assertThat(device.uploadInParts(SCALAR)).as("and does not ask again").isEmpty();
      assertThat(device.openHandles()).isZero();
    }
  }

  @Test
  void shouldSayThatTheDeviceIsLostWhenARunDestroysItsContext() {
    try (PjrtDevice device = open("FAKE_LOST");
        DeviceProgram program = device.compile(IDENTITY);
        DeviceBuffer x =
            device.upload(SCALAR, MemorySegment.ofArray(new float[1]), HostMemory.COPY)) {
      assertThatThrownBy(() -> device.execute(program, new DeviceBuffer[] {x}))
          .isInstanceOfSatisfying(
              DeviceException.class, e -> assertThat(e.code()).isEqualTo(Code.DEVICE_LOST))
          .hasMessageContaining("identity")
          .hasMessageContaining("CUDA_ERROR_ILLEGAL_ADDRESS");
    }
  }

  @Test
  void shouldSayWhatToDoWhenThereIsNoGpu() {
    assertThatThrownBy(() -> open("FAKE_GPUS=0"))
        .isInstanceOf(DeviceException.class)
        .hasMessageContainingAll(
            "No visible GPU devices", "nvidia-smi", "CUDA_VISIBLE_DEVICES", "--gpus");
  }

  /** Whichever this machine lacks first: a driver, or the libraries of an empty environment. */
  @Test
  void shouldRefuseAPackageBeforeItIsLoadedWhenSomethingIsMissing() {
    Path environment = folder.resolve("env");
    Path plugin =
        environment.resolve("lib/python3.12/site-packages/" + CudaPackage.FILES.getFirst());
    FakeCudaPlugin.build(plugin);
    PluginOptions options =
        PluginOptions.DEFAULTS.withPlatform(PluginOptions.CUDA).withPythonEnvironment(environment);
    assertThatThrownBy(() -> PjrtPlugin.load(options))
        .isInstanceOf(DeviceException.class)
        .hasMessageContaining(plugin.toString())
        .hasMessageMatching("(?s).*(libcuda.so.1|libcudart.so.13).*");
  }

  private PjrtDevice open(String... defines) {
    return PjrtDevice.open(options(defines));
  }

  private PjrtDeviceOptions options(String... defines) {
    return FakeCudaPlugin.options(plugin(defines));
  }

  private Path plugin(String... defines) {
    String name = String.join("-", defines).replace('=', '-') + ".so";
    Path file = folder.resolve(name);
    return Files.exists(file) ? file : FakeCudaPlugin.build(file, defines);
  }
}
