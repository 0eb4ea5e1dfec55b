package dev.roundhouse.bundle.weights;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.roundhouse.bundle.error.BundleException;
import dev.roundhouse.bundle.tensor.DType;
import dev.roundhouse.bundle.tensor.Shape;
import dev.roundhouse.bundle.tensor.TensorType;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

class WeightsFileTest {
  private static final String HEADER =
      """
      {"b":{"dtype":"F32","shape":[2],"data_offsets":[24,32]},\
      "__metadata__":{"argument_order":"[\\"b\\",\\"a\\",\\"empty\\"]","by":"test"},\
      "a":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]},\
      "empty":{"dtype":"I64","shape":[0,9],"data_offsets":[32,32]}}   \
      """;

  @TempDir Path folder;

  private WeightsFile open(AxisOrder order) {
    ByteBuffer data = ByteBuffer.allocate(32).order(ByteOrder.LITTLE_ENDIAN);
    for (int i = 0; i < 8; i++) {
      data.putFloat(i);
    }
    return WeightsFile.open(
        Safetensors.write(folder, Safetensors.bytes(HEADER, data.array())),
        order,
        Optional.empty());
  }

  @Test
  void shouldListWeightsInArgumentOrderWhenRowMajor() {
    try (WeightsFile file = open(AxisOrder.ROW_MAJOR)) {
      assertThat(file.arguments())
          .containsExactly(
              new Weight("b", TensorType.of(DType.F32, 2)),
              new Weight("a", TensorType.of(DType.F32, 2, 3)),
              new Weight("empty", TensorType.of(DType.I64, 0, 9)));
      assertThat(file.byteSize()).isEqualTo(32);
      assertThat(floats(file, 1, 6)).containsExactly(0, 1, 2, 3, 4, 5);
      assertThat(floats(file, 0, 2)).containsExactly(6, 7);
    }
  }

  @Test
  void shouldReverseAxesWhenFileIsOfFormat2() {
    try (WeightsFile file = open(AxisOrder.REVERSED)) {
      assertThat(file.arguments())
          .extracting(Weight::type)
          .containsExactly(
              TensorType.of(DType.F32, 2),
              TensorType.of(DType.F32, 3, 2),
              TensorType.of(DType.I64, 9, 0));
      // file [[0,1,2],[3,4,5]] of shape (2,3); device [[0,3],[1,4],[2,5]] of shape (3,2)
      assertThat(floats(file, 1, 6)).containsExactly(0, 3, 1, 4, 2, 5);
      assertThat(floats(file, 0, 2)).containsExactly(6, 7);
    }
  }

  /** The rule itself, {@code dev[t1..tk] = file[tk..t1]}, against every position. */
  @ParameterizedTest
  @EnumSource(
      value = DType.class,
      names = {"BOOL", "BF16", "F32", "F64"})
  void shouldReverseEveryElementWhenRankIsHigh(DType dtype) {
    for (long[] dims :
        new long[][] {
          {5}, {40, 70}, {3, 3, 17, 33}, {2, 3, 4, 5, 6}, {1, 7, 1, 9}, {}, {4, 0, 2}
        }) {
      Shape shape = Shape.of(dims);
      int count = (int) shape.elementCount();
      int width = dtype.byteSize();
      byte[] data = new byte[count * width];
      new Random(11).nextBytes(data);
      String header =
          "{\"w\":{\"dtype\":\"%s\",\"shape\":%s,\"data_offsets\":[0,%d]},\"__metadata__\":{\"argument_order\":\"[\\\"w\\\"]\"}}"
              .formatted(dtype.name(), shape, data.length);
      try (WeightsFile file =
          WeightsFile.open(
              Safetensors.write(folder, Safetensors.bytes(header, data)),
              AxisOrder.REVERSED,
              Optional.empty())) {
        byte[] device = new byte[data.length];
        file.copyTo(0, MemorySegment.ofArray(device));
        for (int position = 0; position < count; position++) {
          int reversed = 0;
          int rest = position;
          for (int axis = dims.length - 1; axis >= 0; axis--) {
            reversed = reversed * (int) dims[axis] + rest % (int) dims[axis];
            rest /= (int) dims[axis];
          }
          for (int b = 0; b < width; b++) {
            assertThat(device[reversed * width + b])
                .as("%s element %d", shape, position)
                .isEqualTo(data[position * width + b]);
          }
        }
      }
    }
  }

  @Test
  void shouldServeNoWeightsWhenThereAreNone() {
    for (String header : new String[] {"{}", "{\"__metadata__\":{}}"}) {
      try (WeightsFile file =
          WeightsFile.open(
              Safetensors.write(folder, Safetensors.bytes(header, new byte[0])),
              AxisOrder.REVERSED,
              Optional.empty())) {
        assertThat(file.arguments()).isEmpty();
      }
    }
    try (WeightsFile file =
        WeightsFile.open(
            Safetensors.write(folder, Safetensors.empty()), AxisOrder.REVERSED, Optional.empty())) {
      assertThat(file.arguments()).isEmpty();
    }
  }

  @Test
  void shouldReadEveryDtypeWhenNamedAsSafetensorsNamesIt() {
    for (DType dtype : DType.values()) {
      if (!dtype.fixedSize()) {
        continue;
      }
      String header =
          "{\"w\":{\"dtype\":\"%s\",\"shape\":[],\"data_offsets\":[0,%d]},\"__metadata__\":{\"argument_order\":\"[\\\"w\\\"]\"}}"
              .formatted(dtype.name(), dtype.byteSize());
      byte[] bytes = Safetensors.bytes(header, new byte[dtype.byteSize()]);
      try (WeightsFile file =
          WeightsFile.open(
              Safetensors.write(folder, bytes), AxisOrder.ROW_MAJOR, Optional.empty())) {
        assertThat(file.arguments().getFirst().type()).isEqualTo(TensorType.of(dtype));
      }
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 4097})
  void shouldRefuseInsteadOfCrashWhenFileIsCutAfterOpen(int keptBytes) throws IOException {
    int elements = 1 << 18;
    String header =
        "{\"w\":{\"dtype\":\"F32\",\"shape\":[512,512],\"data_offsets\":[0,%d]},\"__metadata__\":{\"argument_order\":\"[\\\"w\\\"]\"}}"
            .formatted(elements * 4);
    for (AxisOrder order : AxisOrder.values()) {
      Path path = Safetensors.write(folder, Safetensors.bytes(header, new byte[elements * 4]));
      try (WeightsFile file = WeightsFile.open(path, order, Optional.empty());
          Arena arena = Arena.ofConfined()) {
        try (FileChannel channel = FileChannel.open(path, StandardOpenOption.WRITE)) {
          channel.truncate(keptBytes);
        }
        MemorySegment target = arena.allocate(elements * 4L);
        assertThatThrownBy(() -> file.copyTo(0, target))
            .isInstanceOf(BundleException.class)
            .hasMessageContaining("tensor 'w' cannot be read: the file changed its size");
      }
      Files.delete(path);
    }
  }

  /** Arguments are in another order than the file's tensors, and one is empty. */
  @Test
  void shouldVerifyTheCopiesAndNotTheFile() throws Exception {
    Path path = folder.resolve("weights.safetensors");
    open(AxisOrder.ROW_MAJOR).close();
    String sha256 =
        HexFormat.of()
            .formatHex(MessageDigest.getInstance("SHA-256").digest(Files.readAllBytes(path)));
    try (WeightsFile good = WeightsFile.open(path, AxisOrder.ROW_MAJOR, Optional.of(sha256))) {
      good.verify(copies(good)::get);
    }
    try (WeightsFile changedAfterwards =
        WeightsFile.open(path, AxisOrder.ROW_MAJOR, Optional.of(sha256))) {
      List<MemorySegment> copies = copies(changedAfterwards);
      copies.getFirst().set(ValueLayout.JAVA_BYTE, 0, (byte) 77);
      assertThatThrownBy(() -> changedAfterwards.verify(copies::get))
          .isInstanceOf(BundleException.class)
          .hasMessageContaining("but manifest.yaml says " + sha256);
    }
    try (WeightsFile undigested = WeightsFile.open(path, AxisOrder.ROW_MAJOR, Optional.empty())) {
      undigested.verify(index -> MemorySegment.NULL);
    }
  }

  @Test
  void shouldReadTheSameWeightsAgainWhenTheFileIsUnchanged() {
    for (AxisOrder order : AxisOrder.values()) {
      WeightsOrigin origin;
      float[] first;
      try (WeightsFile file = open(order)) {
        origin = file.origin().orElseThrow();
        first = floats(file, 1, 6);
      }
      try (OpenWeights again = origin.open()) {
        assertThat(floats(again, 1, 6)).containsExactly(first);
      }
    }
  }

  @Test
  void shouldRefuseToReadAgainWhenTheFileIsAnotherOrGone() throws IOException {
    WeightsFile file = open(AxisOrder.REVERSED);
    WeightsOrigin origin = file.origin().orElseThrow();
    file.close();
    Path path = folder.resolve("weights.safetensors");
    byte[] bytes = Files.readAllBytes(path);
    Path twin = Files.write(folder.resolve("twin"), bytes);
    Files.setLastModifiedTime(twin, Files.getLastModifiedTime(path));
    Files.move(twin, path, StandardCopyOption.ATOMIC_MOVE);
    assertThatThrownBy(origin::open)
        .isInstanceOf(BundleException.class)
        .hasMessageContaining("was changed since the model was loaded");
    Files.delete(path);
    assertThatThrownBy(origin::open)
        .isInstanceOf(BundleException.class)
        .hasMessageContaining("weights.safetensors: is not a file");
  }

  /** A copy of the same content is as good as the file itself. */
  @Test
  void shouldTellByTheDigestAloneWhetherTheFileIsTheSame() throws Exception {
    open(AxisOrder.ROW_MAJOR).close();
    Path path = folder.resolve("weights.safetensors");
    byte[] bytes = Files.readAllBytes(path);
    String sha256 = HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(bytes));
    WeightsFile file = WeightsFile.open(path, AxisOrder.ROW_MAJOR, Optional.of(sha256));
    WeightsOrigin origin = file.origin().orElseThrow();
    file.close();
    assertThat(origin.sha256()).contains(sha256);
    Files.delete(path);
    Files.write(path, bytes);
    try (OpenWeights again = origin.open()) {
      again.verify(copies(again)::get);
    }
    bytes[bytes.length - 1]++;
    Files.write(path, bytes);
    try (OpenWeights again = origin.open()) {
      List<MemorySegment> copies = copies(again);
      assertThatThrownBy(() -> again.verify(copies::get))
          .isInstanceOf(BundleException.class)
          .hasMessageContaining("but manifest.yaml says " + sha256);
    }
  }

  private static List<MemorySegment> copies(OpenWeights file) {
    List<MemorySegment> copies = new ArrayList<>();
    for (int i = 0; i < file.arguments().size(); i++) {
      long size = file.arguments().get(i).type().byteSize();
      copies.add(MemorySegment.ofArray(new byte[Math.toIntExact(size)]));
      file.copyTo(i, copies.getLast());
    }
    return copies;
  }

  @Test
  void shouldRefuseCopyWhenTargetIsTooSmallOrFileIsClosed() {
    WeightsFile file = open(AxisOrder.ROW_MAJOR);
    assertThatThrownBy(() -> file.copyTo(1, MemorySegment.ofArray(new byte[23])))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage("weight 'a' needs 24 bytes, the target has 23");
    file.close();
    file.close();
    assertThatThrownBy(() -> file.copyTo(1, MemorySegment.ofArray(new byte[24])))
        .isInstanceOf(IllegalStateException.class);
  }

  private static float[] floats(OpenWeights file, int index, int count) {
    float[] values = new float[count];
    MemorySegment target = MemorySegment.ofArray(values);
    file.copyTo(index, target);
    assertThat(target.byteSize()).isEqualTo(count * ValueLayout.JAVA_FLOAT.byteSize());
    return values;
  }
}
