package dev.roundhouse.bundle.artifact;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.roundhouse.bundle.artifact.F32Products.Result;
import dev.roundhouse.bundle.artifact.F32Products.Scope;
import dev.roundhouse.bundle.error.BundleException;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Locale;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * The files are written by {@code tools/model-export/tests/product_vectors.py}, whose tests hold
 * what this one makes of them against StableHLO's own parser and run it.
 */
class F32ProductsTest {
  private static final Path VECTORS = Path.of("src/test/resources/products");

  private static final String MAIN =
      "func.func public @main(%%a: tensor<4x4xf32>) -> tensor<4x4xf32> { %s return %%y : tensor<4x4xf32> }";
  private static final String TYPES = "(tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>";
  private static final String HIGHEST =
      "precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>]";

  @ParameterizedTest
  @CsvSource({
    "every_kind.text.mlir, TF32_ALGORITHMS, 3, 0",
    "every_kind.text.mlir, EVERY_PRODUCT, 3, 5",
    "every_kind.artifact.mlir, TF32_ALGORITHMS, 3, 0",
    "every_kind.artifact.mlir, EVERY_PRODUCT, 3, 5",
    "nested.artifact.mlir, TF32_ALGORITHMS, 1, 0",
    "nested.artifact.mlir, EVERY_PRODUCT, 1, 2"
  })
  void shouldWriteWhatStablehloReadsWhenAFileHasProducts(
      String file, Scope scope, int algorithms, int precisions) throws IOException {
    byte[] code = vector(file);
    byte[] before = code.clone();
    Result result = F32Products.rewrite(code, file, scope);
    String written = file + "." + scope.name().toLowerCase(Locale.ROOT);
    if (Boolean.getBoolean("update.vectors")) {
      Files.write(VECTORS.resolve(written), result.code());
    }

    assertThat(code).isEqualTo(before);
    assertThat(result.algorithms()).isEqualTo(algorithms);
    assertThat(result.precisions()).isEqualTo(precisions);
    assertThat(result.code()).isEqualTo(vector(written));
    assertThat(F32Products.rewrite(result.code(), file, scope).code()).isSameAs(result.code());
    assertThat(ArtifactReader.read(result.code(), file).encoding())
        .isEqualTo(ArtifactReader.read(code, file).encoding());
  }

  @ParameterizedTest
  @ValueSource(strings = {"old.artifact.mlir", "stablehlo.bytecode.mlir"})
  void shouldLeaveToTheCompilerOrRefuseWhenTheEncodingIsNotKnown(String file) throws IOException {
    byte[] code = vector(file);

    assertThat(F32Products.rewrite(code, file, Scope.TF32_ALGORITHMS).code()).isSameAs(code);
    assertThatThrownBy(() -> F32Products.rewrite(code, file, Scope.EVERY_PRODUCT))
        .isInstanceOf(BundleException.class)
        .hasMessageStartingWith(file + ": cannot be made to compute in f32")
        .hasMessageContaining("export it with numerics f32");
  }

  @ParameterizedTest
  @EnumSource(Scope.class)
  void shouldRefuseOrAnswerWhenBytesAreDamaged(Scope scope) throws IOException {
    byte[] code = vector("every_kind.artifact.mlir");
    int refused = 0;
    for (int i = 4; i < code.length; i++) {
      for (int bit = 0; bit < 8; bit++) {
        byte[] damaged = code.clone();
        damaged[i] ^= (byte) (1 << bit);
        refused += refuses(damaged, scope) ? 1 : 0;
      }
      byte[] cut = Arrays.copyOf(code, i);
      assertThat(scope == Scope.TF32_ALGORITHMS || refuses(cut, scope)).as("cut at %s", i).isTrue();
    }
    assertThat(refused).isPositive();
  }

  private static boolean refuses(byte[] code, Scope scope) {
    try {
      F32Products.rewrite(code, "m", scope);
      return false;
    } catch (BundleException refusal) {
      return true;
    }
  }

  @Test
  void shouldReturnTheSameBytesWhenThereIsNothingToDo() throws IOException {
    byte[] text = main("%y = stablehlo.add %a, %a : tensor<4x4xf32>");
    assertThat(F32Products.rewrite(text, "m", Scope.EVERY_PRODUCT).code()).isSameAs(text);
    // A product without an algorithm is nobody's concern but that of EVERY_PRODUCT.
    byte[] dot = main("%y = stablehlo.dot %a, %a : " + TYPES);
    assertThat(F32Products.rewrite(dot, "m", Scope.TF32_ALGORITHMS).code()).isSameAs(dot);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      value = {
        "%y = stablehlo.dot %a, %a : T|%y = stablehlo.dot %a, %a , precision = [HIGHEST, HIGHEST] : T",
        "%y = stablehlo.dot %a, %a, precision = [HIGH, DEFAULT] {x = 1 : i32} : T|%y = stablehlo.dot %a, %a, precision = [HIGHEST, HIGHEST] {x = 1 : i32} : T",
        "%y = stablehlo.dot %a, %a {x = 1 : i32} : T|%y = stablehlo.dot %a, %a , precision = [HIGHEST, HIGHEST] {x = 1 : i32} : T",
        "%y = \"stablehlo.dot\"(%a, %a) : T|%y = \"stablehlo.dot\"(%a, %a)  {P} : T",
        "%y = \"stablehlo.dot\"(%a, %a) {} : T|%y = \"stablehlo.dot\"(%a, %a) {P} : T",
        "%y = \"stablehlo.dot\"(%a, %a) <{x = 1 : i32}> : T|%y = \"stablehlo.dot\"(%a, %a) <{P, x = 1 : i32}> : T",
        "%y = \"stablehlo.dot\"(%a, %a) {precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision HIGH>]} : T|%y = \"stablehlo.dot\"(%a, %a) {P} : T",
        "%tf32 = stablehlo.dot %a, %tf32 : T loc(\"stablehlo.dot\"(#loc1))|%tf32 = stablehlo.dot %a, %tf32 , precision = [HIGHEST, HIGHEST] : T loc(\"stablehlo.dot\"(#loc1))",
      })
  void shouldAskForTheHighestPrecisionWhenAProductSaysNothingOfIt(String before, String after) {
    Result result = F32Products.rewrite(main(filled(before)), "m", Scope.EVERY_PRODUCT);
    assertThat(text(result)).isEqualTo(new String(main(filled(after)), StandardCharsets.UTF_8));
    assertThat(result.precisions()).isEqualTo(1);
  }

  @Test
  void shouldReplaceTheAlgorithmWhereverItStands() {
    String algorithm =
        "<lhs_precision_type = %s, rhs_precision_type = %s, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = %s, allow_imprecise_accumulation = false>";
    String tf32 = algorithm.formatted("tf32", "tf32", "3");
    String f32 = algorithm.formatted("f32", "f32", "1");
    for (String form :
        new String[] {
          "%y = stablehlo.dot_general %a, %a, contracting_dims = [1] x [0], algorithm = A : T",
          "%y = \"stablehlo.dot_general\"(%a, %a) <{algorithm = #stablehlo.dot_algorithmA, x = 1}> : T",
          "#alias = #stablehlo.dot_algorithmA %y = \"stablehlo.dot_general\"(%a, %a) <{algorithm = #alias}> : T"
        }) {
      byte[] before = main(filled(form.replace("A", tf32)));
      byte[] after = main(filled(form.replace("A", f32)));
      for (Scope scope : Scope.values()) {
        Result result = F32Products.rewrite(before, "m", scope);
        assertThat(result.code()).as(form).isEqualTo(after);
        assertThat(result.algorithms()).isEqualTo(1);
        assertThat(result.precisions()).isZero();
      }
    }
  }

  @Test
  void shouldNameOperationsWhosePrecisionCannotBeSaid() {
    byte[] text =
        main(
            "%z = stablehlo.custom_call @f(%a) : (tensor<4x4xf32>) -> tensor<4x4xf32> %y = stablehlo.cholesky %z : tensor<4x4xf32>");
    assertThat(F32Products.rewrite(text, "m", Scope.EVERY_PRODUCT).unchecked())
        .containsExactly("cholesky", "custom_call");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "%y = stablehlo.convert %a : (tensor<4x4xf32>) -> tensor<4x4x tf32 >",
        "%y = stablehlo.dot %a, %a, precision = [HIGHEST] : T tf32",
        "%y = stablehlo.dot_general %a, %a, algorithm = <lhs_precision_type = tf32, speed = 3> : T",
        "%y = stablehlo.dot_general %a, %a, algorithm = <lhs_precision_type = tf32",
      })
  void shouldRefuseWhenTextNamesTf32InAWayThatIsNotKnown(String body) {
    assertThatThrownBy(() -> F32Products.rewrite(main(filled(body)), "m/x", Scope.EVERY_PRODUCT))
        .isInstanceOf(BundleException.class)
        .hasMessageStartingWith("m/x: line ");
  }

  private static String filled(String body) {
    return body.replace(": T", ": " + TYPES).replace("P", HIGHEST);
  }

  private static byte[] main(String body) {
    return MAIN.formatted(body).getBytes(StandardCharsets.UTF_8);
  }

  private static String text(Result result) {
    return new String(result.code(), StandardCharsets.UTF_8);
  }

  private static byte[] vector(String file) throws IOException {
    return Files.readAllBytes(VECTORS.resolve(file));
  }
}
