package dev.roundhouse.bundle.artifact;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.roundhouse.bundle.error.BundleException;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The modules under {@code hazards} come from JAX: its {@code export.py} writes them. */
class HazardsTest {
  private static final List<String> ENCODINGS = List.of("text", "artifact");

  private static byte[] module(String name) {
    try (InputStream file = HazardsTest.class.getResourceAsStream("/hazards/" + name + ".mlir")) {
      return file.readAllBytes();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static void read(String text) {
    ArtifactReader.read(text.getBytes(StandardCharsets.UTF_8), "m/x.mlir");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "sort",
        "sort-i32",
        "sort-bool",
        "sort-bf16",
        "sort-complex",
        "argsort",
        "keys",
        "permutation",
        "unique",
        "top-k",
        "approx-top-k",
        "erf"
      })
  void shouldAcceptWhenJaxMadeIt(String name) {
    for (String encoding : ENCODINGS) {
      byte[] code = module("good-" + name + "." + encoding);
      assertThat(ArtifactReader.read(code, "m/x.mlir")).as(encoding).isNotNull();
    }
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "sort-le     | sort by a comparator that says of 0 that it comes before itself",
        "sort-ne     | that each comes before the other",
        "sort-true   | sort by a comparator that says of 0 that it comes before itself",
        "top-k       | TopK takes the largest 9 of 8",
        "custom-call | custom_call of 'somebody_elses', which is not among what is served",
        "doubling    | become 536870912 when each call is replaced by what it calls",
      })
  void shouldRefuseByNameWhenXlaDoesNotBearIt(String name, String reason) {
    for (String encoding : ENCODINGS) {
      byte[] code = module("bad-" + name + "." + encoding);
      assertThatThrownBy(() -> ArtifactReader.read(code, "m/x.mlir"))
          .as(encoding)
          .isInstanceOf(BundleException.class)
          .hasMessageStartingWith("m/x.mlir: ")
          .hasMessageContaining(reason);
    }
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "GE | FLOAT | true",
        "LE | TOTALORDER | true",
        "EQ | FLOAT | true",
        "LT | FLOAT | false",
        "GT | TOTALORDER | false",
      })
  void shouldJudgeByDirectionWhenSortIsInGenericForm(String direction, String type, boolean bad) {
    String text =
        """
        func.func @main(%%x: tensor<9xf32>) -> tensor<9xf32> {
          %%y = "stablehlo.sort"(%%x) <{dimension = 0 : i64}> ({
          ^bb0(%%a: tensor<f32>, %%b: tensor<f32>):
            %%c = "stablehlo.compare"(%%a, %%b) <{compare_type = #stablehlo<comparison_type %2$s>, comparison_direction = #stablehlo<comparison_direction %1$s>}> : (tensor<f32>, tensor<f32>) -> tensor<i1>
            "stablehlo.return"(%%c) : (tensor<i1>) -> ()
          }) : (tensor<9xf32>) -> tensor<9xf32>
          return %%y : tensor<9xf32>
        }
        """
            .formatted(direction, type);
    if (bad) {
      assertThatThrownBy(() -> read(text)).hasMessageContaining("sort by a comparator");
    } else {
      read(text);
    }
  }

  @Test
  void shouldLeaveAComparatorToTheTrialWhenItComputesWhatIsNotKnownHere() {
    read(
        """
        func.func @main(%x: tensor<9xf32>) -> tensor<9xf32> {
          %y = "stablehlo.sort"(%x) ({
          ^bb0(%a: tensor<f32>, %b: tensor<f32>):
            %m = stablehlo.sine %a : tensor<f32>
            %c = stablehlo.compare LE, %m, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
            stablehlo.return %c : tensor<i1>
          }) {dimension = 0 : i64} : (tensor<9xf32>) -> tensor<9xf32>
          return %y : tensor<9xf32>
        }
        """);
  }

  @Test
  void shouldRefuseWhenTopKIsACompositeOrInItsOwnForm() {
    String composite = new String(module("good-top-k.text"), StandardCharsets.UTF_8);
    read(composite);
    assertThatThrownBy(() -> read(composite.replace("k = 5 : i64", "k = 500 : i64")))
        .hasMessageContaining("chlo.top_k takes the largest 500 of 100");
    String own =
        """
        func.func @main(%%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
          %%v, %%i = chlo.top_k(%%x, k = %d) : tensor<4x8xf32> -> (tensor<4x%dxf32>, tensor<4x%dxi32>)
          return %%x : tensor<4x8xf32>
        }
        """;
    read(own.formatted(8, 8, 8));
    assertThatThrownBy(() -> read(own.formatted(9, 9, 9)))
        .hasMessageContaining("chlo.top_k takes the largest 9 of 8");
  }

  @Test
  void shouldSayThatATopKIsUnclearWhenItHasNoTypes() {
    assertThatThrownBy(
            () ->
                read(
                    "func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> { %y = stablehlo.custom_call @TopK(%x) : (tensor<?xf32>) -> tensor<?xf32> return %x : tensor<8xf32> }"))
        .hasMessageContaining("TopK does not say by its types");
  }

  @Test
  void shouldCountWithoutOverflowWhenCallsMultiplyForEver() {
    StringBuilder text =
        new StringBuilder("func.func @f0() { %0 = stablehlo.constant dense<1> : tensor<i32> }\n");
    for (int i = 1; i < 200; i++) {
      text.append("func.func @f%d() { call @f%d() call @f%d() }%n".formatted(i, i - 1, i - 1));
    }
    text.append("func.func @main() { call @f199() }\n");
    assertThatThrownBy(() -> read(text.toString()))
        .hasMessageContaining("become more than " + Long.MAX_VALUE);
  }

  @Test
  void shouldAcceptWhenMuchIsWrittenAndLittleIsCalled() {
    StringBuilder text = new StringBuilder("func.func @main(%x: tensor<f32>) -> tensor<f32> {\n");
    for (int i = 0; i < 300_000; i++) {
      text.append("%").append(i).append(" = stablehlo.sine %x : tensor<f32>\n");
    }
    read(text.append("return %x : tensor<f32>\n}\n").toString());
  }

  @Test
  void shouldThrowNothingElseWhenAnArtifactOrATextIsMutated() {
    long seed = 25L;
    System.out.println("HazardsTest seed " + seed);
    Random random = new Random(seed);
    List<byte[]> originals = new ArrayList<>();
    for (String encoding : ENCODINGS) {
      originals.add(module("good-keys." + encoding));
      originals.add(module("good-top-k." + encoding));
    }
    for (int round = 0; round < 4000; round++) {
      byte[] code = originals.get(round % originals.size()).clone();
      for (int edit = random.nextInt(4); edit >= 0; edit--) {
        code[random.nextInt(code.length)] = (byte) random.nextInt(256);
      }
      boolean whole = random.nextInt(4) != 0;
      try {
        ArtifactReader.read(
            whole ? code : Arrays.copyOf(code, random.nextInt(code.length)), "m/x.mlir");
      } catch (BundleException expected) {
        assertThat(expected).hasMessageStartingWith("m/x.mlir: ");
      }
    }
  }
}
