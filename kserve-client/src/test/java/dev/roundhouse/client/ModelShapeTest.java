package dev.roundhouse.client;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.roundhouse.bundle.tensor.DType;
import dev.roundhouse.bundle.tensor.Shape;
import dev.roundhouse.client.tensor.Tensor;
import java.util.List;
import org.junit.jupiter.api.Test;

class ModelShapeTest {
  private final ModelShape model =
      new ModelShape(
          "m",
          List.of("1"),
          "cpu",
          List.of(
              new TensorShape("image", DType.F32, Shape.of(-1, 4, 2), 0, false),
              new TensorShape("mask", DType.U8, Shape.of(-1, -1), 0, true)),
          List.of(
              new TensorShape("y", DType.F32, Shape.of(-1, 8), 0, false),
              new TensorShape("many", DType.I64, Shape.of(-1, -1), 0, false)),
          16);

  private void check(String input, Tensor tensor) {
    model.check(InferRequest.to("m").input(input, tensor).build());
  }

  @Test
  void shouldPassWhatTheModelTakes() {
    assertThatCode(() -> check("image", Tensor.of(new float[24], 3, 4, 2)))
        .doesNotThrowAnyException();
    assertThatCode(
            () ->
                model.check(
                    InferRequest.to("m")
                        .input("image", Tensor.of(new float[16], 2, 4, 2))
                        .input("mask", Tensor.of(DType.U8, new byte[14], 2, 7))
                        .output("y")
                        .build()))
        .doesNotThrowAnyException();
  }

  @Test
  void shouldNameWhatIsWrongAndWhatWouldBeRight() {
    assertThatThrownBy(() -> check("imag", Tensor.of(new float[8], 1, 4, 2)))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage(
            "model 'm' has no input 'imag'; it has 'image' FP32[-1,4,2], 'mask' UINT8[-1,-1]");
    assertThatThrownBy(() -> check("image", Tensor.of(new double[8], 1, 4, 2)))
        .hasMessage("input 'image' of 'm' is FP32[-1,4,2], got FP64[1,4,2]: convert it to FP32");
    assertThatThrownBy(() -> check("image", Tensor.of(new float[8], 4, 2)))
        .hasMessageContaining("it has 2 axes, not 3; axis 0 counts rows: reshape it to [1,4,2]");
    assertThatThrownBy(() -> check("image", Tensor.of(new float[8], 8)))
        .hasMessageEndingWith("it has 1 axes, not 3");
    assertThatThrownBy(() -> check("image", Tensor.of(new float[20], 1, 4, 5)))
        .hasMessageEndingWith("axis 2 has 5 elements, not 2");
    assertThatThrownBy(() -> check("mask", Tensor.of(DType.U8, new byte[1], 1, 1)))
        .hasMessage("a request to 'm' lacks input 'image' FP32[-1,4,2]");
    assertThatThrownBy(
            () ->
                model.check(
                    InferRequest.to("m")
                        .input("image", Tensor.of(new float[8], 1, 4, 2))
                        .output("z")
                        .build()))
        .hasMessageStartingWith("model 'm' has no output 'z'; it has 'y' FP32[-1,8]");
    assertThatThrownBy(
            () -> model.check(InferRequest.to("n").input("x", Tensor.of(new int[1])).build()))
        .hasMessageContaining("'n'");
  }

  @Test
  void shouldSayWhenAxesAreInReverse() {
    assertThatThrownBy(() -> check("image", Tensor.of(new float[24], 2, 4, 3)))
        .hasMessageContaining("its axes fit in reverse")
        .hasMessageContaining("transpose it to [3,4,2]");
  }

  @Test
  void shouldWantAsManyRowsOfEveryInput() {
    assertThatThrownBy(
            () ->
                model.check(
                    InferRequest.to("m")
                        .input("image", Tensor.of(new float[16], 2, 4, 2))
                        .input("mask", Tensor.of(DType.U8, new byte[3], 3, 1))
                        .build()))
        .hasMessage(
            "inputs of 'm' have different numbers of rows: {image=2, mask=3}; give all of them as many");
  }

  @Test
  void shouldTellHowLargeAnOutputWillBe() {
    assertThat(ModelShape.byteSize(model.output("y"), 3)).hasValue(96);
    assertThat(ModelShape.byteSize(model.output("many"), 3)).isEmpty();
  }
}
