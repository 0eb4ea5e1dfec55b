package dev.roundhouse.hooks;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.roundhouse.bundle.tensor.DType;
import dev.roundhouse.bundle.tensor.Shape;
import dev.roundhouse.hooks.testing.SampleContext;
import dev.roundhouse.hooks.testing.SampleRequest;
import java.lang.foreign.MemorySegment;
import java.nio.ReadOnlyBufferException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class TensorTest {
  private final HookRequest request =
      new SampleRequest(new SampleContext("m", Path.of("."), Map.of()));

  @Test
  void shouldShowWhatWasWrittenInLittleEndianWithoutACopy() {
    Tensor tensor = request.tensor("x", DType.F32, 2, 3);
    tensor.f32().put(4, 1.5f);
    assertThat(tensor.f32().get(4)).isEqualTo(1.5f);
    assertThat(tensor.f32().remaining()).isEqualTo(6);
    assertThat(tensor.segment().toArray(java.lang.foreign.ValueLayout.JAVA_BYTE))
        .containsSequence(0, 0, (byte) 0xc0, 0x3f);
    assertThat(tensor.named("y").reshaped(6).f32().get(4)).isEqualTo(1.5f);
    assertThat(tensor).hasToString("x f32[2,3]");
  }

  @ParameterizedTest
  @EnumSource(mode = EnumSource.Mode.EXCLUDE, names = "BYTES")
  void shouldHaveOneViewForEachTypeAndRefuseTheOthers(DType dtype) {
    Tensor tensor = request.tensor("x", dtype, 3);
    Map<DType, Runnable> views =
        Map.ofEntries(
            Map.entry(DType.F64, () -> tensor.f64().put(2, 1)),
            Map.entry(DType.F32, () -> tensor.f32().put(2, 1)),
            Map.entry(DType.F16, () -> tensor.f16().put(2, (short) 1)),
            Map.entry(DType.BF16, () -> tensor.bf16().put(2, (short) 1)),
            Map.entry(DType.I64, () -> tensor.i64().put(2, 1)),
            Map.entry(DType.I32, () -> tensor.i32().put(2, 1)),
            Map.entry(DType.I16, () -> tensor.i16().put(2, (short) 1)),
            Map.entry(DType.I8, () -> tensor.i8().put(2, (byte) 1)),
            Map.entry(DType.U64, () -> tensor.u64().put(2, 1)),
            Map.entry(DType.U32, () -> tensor.u32().put(2, 1)),
            Map.entry(DType.U16, () -> tensor.u16().put(2, (short) 1)),
            Map.entry(DType.U8, () -> tensor.u8().put(2, (byte) 1)),
            Map.entry(DType.BOOL, () -> tensor.bool().put(2, (byte) 1)));
    views.forEach(
        (as, view) -> {
          if (as == dtype) {
            view.run();
          } else {
            assertThatThrownBy(view::run)
                .isInstanceOf(IllegalStateException.class)
                .hasMessage("tensor 'x' is %s[3] and no %s".formatted(dtype, as));
          }
        });
    assertThatThrownBy(tensor::strings).hasMessageContaining("has no bytes or strings");
  }

  @Test
  void shouldHoldTextsAsTheWireDoes() {
    Tensor texts = request.strings("t", List.of("ä", "", "b😀"), 3, 1);
    assertThat(texts.strings()).containsExactly("ä", "", "b😀");
    assertThat(texts.string(2)).isEqualTo("b😀");
    assertThat(texts.bytes(0).remaining()).isEqualTo(2);
    assertThat(texts.segment().byteSize()).isEqualTo(12 + 2 + 5);
    assertThat(request.strings("t", List.of("a", "b")).shape()).isEqualTo(Shape.of(2));
    assertThat(request.strings("t", List.of()).strings()).isEmpty();
    assertThatThrownBy(() -> request.strings("t", List.of("a"), 2))
        .hasMessage("tensor 't' of shape [2] has 2 elements and 1 are given");
    assertThatThrownBy(() -> texts.bytes(3)).isInstanceOf(IndexOutOfBoundsException.class);
  }

  @Test
  void shouldRefuseBytesThatAreNoElements() {
    for (byte[] bytes :
        List.of(
            new byte[3],
            new byte[9],
            new byte[] {5, 0, 0, 0, 1, 0, 0, 0},
            new byte[] {-1, -1, -1, -1, 0, 0, 0, 0},
            new byte[] {-1, -1, -1, 127, 0, 0, 0, 0})) {
      Tensor tensor = Tensor.of("t", DType.BYTES, Shape.of(2), MemorySegment.ofArray(bytes));
      assertThatThrownBy(tensor::strings)
          .isInstanceOf(IllegalStateException.class)
          .hasMessageContaining("are not 2 elements with their lengths");
    }
    Shape huge = Shape.of(1L << 31);
    MemorySegment none = MemorySegment.ofArray(new byte[0]);
    assertThatThrownBy(Tensor.of("t", DType.BYTES, huge, none)::strings)
        .hasMessageContaining("are not 2147483648 elements");
  }

  @Test
  void shouldRefuseMemoryOfAnotherSizeAndShapesThatAreNone() {
    MemorySegment eight = MemorySegment.ofArray(new byte[8]);
    assertThatThrownBy(() -> Tensor.of("x", DType.F32, Shape.of(3), eight))
        .hasMessage("tensor 'x' f32[3] needs 12 bytes and has 8");
    assertThatThrownBy(() -> request.tensor("x", DType.F32, -1))
        .hasMessageContaining("every size must be 0 or more");
    assertThatThrownBy(() -> request.tensor("x", DType.F32, Long.MAX_VALUE, 2))
        .hasMessageContaining("more elements than can be counted");
    assertThatThrownBy(() -> request.tensor("x", DType.F64, Long.MAX_VALUE / 2))
        .hasMessageContaining("more elements than can be counted");
    assertThatThrownBy(() -> request.tensor("x", DType.BYTES, 1))
        .hasMessageContaining("strings(...)");
    assertThatThrownBy(() -> request.tensor("x", DType.F32, 2).reshaped(3))
        .hasMessageContaining("cannot have shape [3]");
  }

  @Test
  void shouldNotBeWrittenWhenItIsTheServers() {
    Tensor given = SampleRequest.f32("x", new float[] {1, 2}, 1, 2);
    assertThatThrownBy(() -> given.f32().put(0, 1)).isInstanceOf(ReadOnlyBufferException.class);
    assertThat(given.dim(1)).isEqualTo(2);
  }

  @Test
  void shouldFindTensorsByNameInOrder() {
    Tensors tensors =
        Tensors.of(request.tensor("b", DType.I8, 1), request.tensor("a", DType.I8, 1));
    assertThat(tensors.names()).containsExactly("b", "a");
    assertThat(tensors).extracting(Tensor::name).containsExactly("b", "a");
    assertThat(tensors.has("c")).isFalse();
    assertThat(tensors.size()).isEqualTo(2);
    assertThatThrownBy(() -> tensors.get("c"))
        .hasMessage("there is no tensor 'c'; there are [b, a]");
    Tensor twice = request.tensor("a", DType.I8, 1);
    assertThatThrownBy(() -> Tensors.of(twice, twice)).hasMessage("there are two tensors 'a'");
  }

  @Test
  void shouldLetHooksBeTestedWithoutAServer() throws Exception {
    ModelHooks lengths =
        new ModelHooks() {
          @Override
          public Tensors preprocess(HookRequest of) {
            Tensor text = of.input("text");
            of.attach(text.string(0));
            Tensor length = of.tensor("length", DType.I32, 1, 1);
            length.i32().put(0, text.bytes(0).remaining());
            return Tensors.of(length);
          }

          @Override
          public Tensors postprocess(HookRequest of, Tensors outputs) {
            return Tensors.of(of.strings("again", List.of(of.attachment(String.class))));
          }
        };
    SampleRequest sample =
        new SampleRequest(new SampleContext("m", Path.of("."), Map.of()))
            .with(r -> r.strings("text", List.of("hellö"), 1, 1));
    assertThat(lengths.preprocess(sample).get("length").i32().get(0))
        .isEqualTo("hellö".getBytes(StandardCharsets.UTF_8).length);
    assertThat(lengths.postprocess(sample, Tensors.of()).get("again").strings())
        .containsExactly("hellö");
    assertThatThrownBy(() -> sample.attachment(Integer.class))
        .isInstanceOf(IllegalStateException.class);
  }
}
