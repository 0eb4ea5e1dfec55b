package dev.roundhouse.engine.admission;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.roundhouse.bundle.model.Axis;
import dev.roundhouse.bundle.model.ModelSpec;
import dev.roundhouse.bundle.model.ServingDefaults;
import dev.roundhouse.bundle.model.TensorSpec;
import dev.roundhouse.bundle.model.Variant;
import dev.roundhouse.bundle.tensor.BytesLayout;
import dev.roundhouse.bundle.tensor.DType;
import dev.roundhouse.bundle.tensor.Shape;
import dev.roundhouse.engine.model.ModelContract;
import dev.roundhouse.engine.queue.Admitted;
import dev.roundhouse.engine.queue.RefusedException;
import dev.roundhouse.engine.request.AnswerForm;
import dev.roundhouse.engine.request.InferenceRequest;
import dev.roundhouse.engine.request.InputTensor;
import dev.roundhouse.engine.request.Status;
import dev.roundhouse.engine.request.TensorData;
import dev.roundhouse.engine.testing.ReplySink;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class ContractCheckTest {
  private static final ModelContract SIMPLE =
      contract(
          List.of(
              tensor("A", DType.I32, Axis.BATCH, fixed(16)),
              tensor("B", DType.I32, Axis.BATCH, fixed(16))),
          List.of(
              tensor("SUM", DType.I32, Axis.BATCH, fixed(16)),
              tensor("DIFF", DType.I32, Axis.BATCH, fixed(16))),
          List.of(Variant.SINGLE),
          1,
          4);

  private static final ModelContract VARIANTS =
      contract(
          List.of(
              tensor("x", DType.F32, Axis.BATCH, new Axis.Variable('s')),
              tensor("mask", DType.BOOL, Axis.BATCH, new Axis.Variable('s'))),
          List.of(tensor("y", DType.F32, Axis.BATCH)),
          List.of(new Variant(Map.of('s', 16L)), new Variant(Map.of('s', 32L))),
          1,
          4);

  @Test
  void shouldAcceptInputsInAnyOrderAndPutThemInTheModelsOrder() throws RefusedException {
    Admitted admitted =
        ContractCheck.check(SIMPLE, request(List.of("DIFF"), i32("B", 2, 16), i32("A", 2, 16)));
    assertThat(admitted.inputs()).extracting(InputTensor::name).containsExactly("A", "B");
    assertThat(admitted.rows()).isEqualTo(2);
    assertThat(admitted.outputs()).containsExactly(1);
  }

  @Test
  void shouldFindTheVariantThatFits() throws RefusedException {
    assertThat(ContractCheck.check(VARIANTS, variantRequest(32, 32)).variant()).isEqualTo(1);
    assertThat(ContractCheck.check(VARIANTS, variantRequest(16, 16)).variant()).isZero();
  }

  @Test
  void shouldNameTheCompiledVariantsWhenNoneFits() {
    refused(
        VARIANTS,
        variantRequest(24, 24),
        "model 'm' is not compiled for {s=24}",
        "{s=16}",
        "{s=32}");
    refused(
        VARIANTS,
        variantRequest(16, 32),
        "axis 's' of input 'mask' for model 'm' is 32",
        "16 elsewhere");
  }

  @Test
  void shouldRefuseWhatDoesNotFitWithTheTextClientsLookFor() {
    refused(
        SIMPLE,
        request(i32("A", 1, 16)),
        "expected 2 inputs but got 1 inputs for model 'm'. Got input(s) ['A'], but missing required input(s) ['B']");
    refused(
        SIMPLE,
        request(i32("A", 1, 16), i32("C", 1, 16)),
        "unexpected inference input 'C' for model 'm'");
    refused(
        SIMPLE,
        request(i32("A", 1, 16), i32("B", 1, 16), i32("C", 1, 16)),
        "expected 2 inputs but got 3 inputs for model 'm'. Got input(s) ['A', 'B', 'C']");
    refused(
        SIMPLE,
        request(i32("A"), i32("B", 1, 16)),
        "input 'A' has no shape but model requires batch dimension for 'm'");
    refused(
        SIMPLE, request(i32("A", 1, 16), i32("A", 1, 16)), "input 'A' already exists in request");
    refused(
        SIMPLE,
        request(new InputTensor("A", DType.F32, Shape.of(1, 16), zeros(64)), i32("B", 1, 16)),
        "inference input 'A' data-type is 'FP32', but model 'm' expects 'INT32'");
    refused(
        SIMPLE,
        request(i32("A", 1, 15), i32("B", 1, 16)),
        "unexpected shape for input 'A' for model 'm'. Expected [-1,16], got [1,15]",
        "axis 0",
        "batch dimension");
    refused(SIMPLE, request(i32("A", 16), i32("B", 1, 16)), "Expected [-1,16], got [16]");
    refused(
        SIMPLE,
        request(i32("A", 1, 16), i32("B", 2, 16)),
        "input 'B' batch size does not match other inputs for 'm'");
    refused(
        SIMPLE,
        request(i32("A", 0, 16), i32("B", 0, 16)),
        "inference request batch-size must be >= 1 for 'm', got 0");
    refused(
        SIMPLE,
        request(new InputTensor("A", DType.I32, Shape.of(1, 16), zeros(60)), i32("B", 1, 16)),
        "input byte size mismatch for input 'A' for model 'm'. Expected 64, got 60");
    refused(
        SIMPLE,
        request(List.of("SUM", "PRODUCT"), i32("A", 1, 16), i32("B", 1, 16)),
        "unexpected inference output 'PRODUCT' for model 'm'",
        "[SUM, DIFF]");
    refused(
        SIMPLE,
        request(List.of("SUM", "SUM"), i32("A", 1, 16), i32("B", 1, 16)),
        "output 'SUM' already exists in request");
  }

  @Test
  void shouldAcceptMoreRowsThanAProgramTakesButNotWithoutEnd() throws RefusedException {
    assertThat(ContractCheck.check(SIMPLE, request(i32("A", 50, 16), i32("B", 50, 16))).rows())
        .isEqualTo(50);
    ModelContract empty =
        contract(
            List.of(tensor("nothing", DType.F32, Axis.BATCH, fixed(0))),
            List.of(tensor("y", DType.F32, Axis.BATCH)),
            List.of(Variant.SINGLE),
            1);
    InputTensor endless =
        new InputTensor("nothing", DType.F32, Shape.of(1L << 40, 0), TensorData.of(new byte[0]));
    refused(empty, request(endless), "batch-size must be <= 1048576 for 'm', got 1099511627776");
  }

  @Test
  void shouldRefuseAShapeWhoseElementsCannotBeCounted() {
    ModelContract contract =
        contract(
            List.of(
                tensor("x", DType.F32, Axis.BATCH, new Axis.Variable('s'), new Axis.Variable('t'))),
            List.of(tensor("y", DType.F32, Axis.BATCH)),
            List.of(new Variant(Map.of('s', 1L, 't', 1L))),
            1);
    InputTensor huge =
        new InputTensor("x", DType.F32, Shape.of(1, Long.MAX_VALUE, Long.MAX_VALUE), zeros(4));
    refused(contract, request(huge), "has more elements than can be counted");
  }

  @Test
  void shouldAskForACompiledBatchSizeWhenAnOutputWouldShowThePadding() throws RefusedException {
    ModelContract contract =
        contract(
            List.of(tensor("x", DType.F32, Axis.BATCH, fixed(2))),
            List.of(tensor("mean", DType.F32, fixed(2))),
            List.of(Variant.SINGLE),
            1,
            4);
    InputTensor three = new InputTensor("x", DType.F32, Shape.of(3, 2), zeros(24));
    refused(
        contract,
        request(three),
        "batch-size must be one of [1, 4] for 'm', got 3",
        "cannot be padded");
    InputTensor four = new InputTensor("x", DType.F32, Shape.of(4, 2), zeros(32));
    assertThat(ContractCheck.check(contract, request(four)).rows()).isEqualTo(4);
  }

  @Test
  void shouldTakeAnySizeOfALetterOfAClientContractAndTheSameForAll() throws RefusedException {
    for (int size : new int[] {0, 1, 7, 1000}) {
      Admitted admitted = ContractCheck.check(TEXTS, request(texts("a", "b"), mask(2, size)));
      assertThat(admitted.variant()).isZero();
      assertThat(admitted.rows()).isEqualTo(2);
    }
    ModelContract pair =
        client(
            List.of(
                tensor("x", DType.F32, Axis.BATCH, new Axis.Variable('s')),
                tensor("mask", DType.BOOL, Axis.BATCH, new Axis.Variable('s'))),
            List.of(tensor("y", DType.F32, Axis.BATCH, fixed(3))));
    assertThat(ContractCheck.check(pair, variantRequest(24, 24)).answerBytes()).isEqualTo(2 * 12);
    refused(
        pair,
        variantRequest(16, 32),
        "axis 's' of input 'mask' for model 'm' is 32",
        "16 elsewhere");
  }

  @Test
  void shouldCountOfAnAnswerWhatIsKnownBeforeItIsMade() throws RefusedException {
    Admitted all = ContractCheck.check(TEXTS, request(texts("a", "b"), mask(2, 3)));
    assertThat(all.answerBytes()).as("of 'score' alone").isEqualTo(2 * 4);
    assertThat(all.inputBytes()).isEqualTo(10 + 6);
    Admitted open = ContractCheck.check(TEXTS, request(List.of("tags"), texts("a"), mask(1, 3)));
    assertThat(open.answerBytes()).isZero();
  }

  @Test
  void shouldCountOneRowOfAnOutputWhereRequestsHaveNone() throws RefusedException {
    List<TensorSpec> inputs = List.of(tensor("x", DType.F32, fixed(2)));
    List<TensorSpec> outputs = List.of(tensor("y", DType.F32, Axis.BATCH, fixed(3)));
    InferenceRequest request = request(new InputTensor("x", DType.F32, Shape.of(2), zeros(8)));
    ModelContract program = contract(inputs, outputs, List.of(Variant.SINGLE), 1);
    assertThat(ContractCheck.check(program, request).answerBytes()).isEqualTo(12);
    assertThat(ContractCheck.check(client(inputs, outputs), request).answerBytes())
        .as("its code decides")
        .isZero();
  }

  @Test
  void shouldRefuseStringsThatAreNotWholeOrNotAsManyAsTheShapeSays() {
    InputTensor mask = mask(1, 0);
    refused(
        TEXTS,
        request(strings(BytesLayout.ofStrings(List.of("a", "b")), 1), mask),
        "unexpected number of string elements 2 for inference input 'text' for model 'm', expecting 1");
    refused(
        TEXTS,
        request(strings(MemorySegment.ofArray(new byte[0]), 1), mask),
        "expected 1 string elements for inference input 'text' for model 'm', got 0");
    refused(
        TEXTS,
        request(strings(MemorySegment.ofArray(new byte[] {-1, -1, -1, -1}), 1), mask),
        "expecting string of length 4294967295 but only 0 bytes available");
    refused(
        contract(
            List.of(tensor("A", DType.I32, Axis.BATCH, fixed(16))),
            List.of(tensor("SUM", DType.I32, Axis.BATCH, fixed(16))),
            List.of(Variant.SINGLE),
            1),
        request(
            new InputTensor("A", DType.BYTES, Shape.of(1, 16), TensorData.of(new byte[16 * 4]))),
        "inference input 'A' data-type is 'BYTES', but model 'm' expects 'INT32'");
  }

  /** Others can change it until it is copied, and so it is checked then. */
  @Test
  void shouldCountTheCopyOfStringsInMemoryOfOthers() throws RefusedException {
    InputTensor shared = new InputTensor("text", DType.BYTES, Shape.of(1), new Elsewhere(7));
    assertThat(ContractCheck.check(TEXTS, request(shared, mask(1, 2))).inputBytes())
        .isEqualTo(7 + 2);
    InputTensor many = new InputTensor("text", DType.BYTES, Shape.of(1L << 20), new Elsewhere(7));
    refused(TEXTS, request(many, mask(1 << 20, 0)), "expected 1048576 string elements", "got 1");
  }

  /** Memory of another process. */
  private record Elsewhere(long byteSize) implements TensorData {
    @Override
    public long heldBytes() {
      return 0;
    }

    @Override
    public void copyTo(long offset, MemorySegment target, long targetOffset, long length) {
      throw new AssertionError("it is not read at admission");
    }
  }

  private static final ModelContract TEXTS =
      client(
          List.of(
              tensor("text", DType.BYTES, Axis.BATCH),
              tensor("mask", DType.BOOL, Axis.BATCH, new Axis.Variable('s'))),
          List.of(
              tensor("score", DType.F32, Axis.BATCH),
              tensor("tags", DType.BYTES, Axis.BATCH),
              tensor("boxes", DType.F32, new Axis.Variable('k'), fixed(4))));

  private static InputTensor texts(String... texts) {
    return strings(BytesLayout.ofStrings(List.of(texts)), texts.length);
  }

  private static InputTensor strings(MemorySegment data, long count) {
    return new InputTensor("text", DType.BYTES, Shape.of(count), TensorData.of(data));
  }

  private static InputTensor mask(long rows, long size) {
    return new InputTensor("mask", DType.BOOL, Shape.of(rows, size), zeros(rows * size));
  }

  /** Of a model whose program takes other tensors than its callers send. */
  private static ModelContract client(List<TensorSpec> inputs, List<TensorSpec> outputs) {
    TensorSpec own = tensor("ids", DType.I32, Axis.BATCH, new Axis.Variable('s'));
    ModelSpec spec =
        new ModelSpec(
            "m",
            "3",
            ModelSpec.Kind.MODEL,
            "",
            List.of(own),
            List.of(tensor("mean", DType.F32, fixed(2))),
            Optional.of(new ModelSpec.ClientContract(inputs, outputs)),
            List.of(1, 4),
            List.of(new Variant(Map.of('s', 16L)), new Variant(Map.of('s', 32L))),
            List.of(),
            ServingDefaults.DEFAULT,
            Map.of());
    return ModelContract.of(spec, List.of(1, 4));
  }

  private static void refused(ModelContract contract, InferenceRequest request, String... texts) {
    assertThatThrownBy(() -> ContractCheck.check(contract, request))
        .isInstanceOfSatisfying(
            RefusedException.class,
            refusal -> {
              assertThat(refusal.status()).isEqualTo(Status.INVALID_ARGUMENT);
              assertThat(refusal.getMessage()).contains(texts);
            });
  }

  private static InferenceRequest variantRequest(int x, int mask) {
    return request(variantInputs(x, mask));
  }

  private static InputTensor[] variantInputs(int x, int mask) {
    return new InputTensor[] {
      new InputTensor("x", DType.F32, Shape.of(2, x), zeros(2L * x * 4)),
      new InputTensor("mask", DType.BOOL, Shape.of(2, mask), zeros(2L * mask))
    };
  }

  @Test
  void shouldPutOutputsInTheModelsOrderWhateverTheyAreRequestedIn() throws RefusedException {
    InferenceRequest request = request(List.of("DIFF", "SUM"), i32("A", 2, 16), i32("B", 2, 16));
    assertThat(ContractCheck.check(SIMPLE, request).outputs()).containsExactly(0, 1);
  }

  @Test
  void shouldCountWhatTheCallerMakesOfOutputsWithThem() throws RefusedException {
    AnswerForm form =
        (outputs, variant, rows) -> outputs.size() + 10 * variant.size('s') + 1000L * rows;
    Admitted admitted = ContractCheck.check(VARIANTS, formed(form));
    assertThat(admitted.answerBytes()).isEqualTo(2 * 4 + 1 + 320 + 2000);
    assertThat(ContractCheck.check(VARIANTS, formed(AnswerForm.AS_IS)).answerBytes())
        .isEqualTo(2 * 4);
  }

  @Test
  void shouldRefuseAFormThatAnOutputCannotTake() {
    AnswerForm form =
        (outputs, variant, rows) -> {
          throw new IllegalArgumentException("output 'y' has no such form");
        };
    assertThatThrownBy(() -> ContractCheck.check(VARIANTS, formed(form)))
        .isInstanceOfSatisfying(
            RefusedException.class, e -> assertThat(e.status()).isEqualTo(Status.INVALID_ARGUMENT))
        .hasMessage("output 'y' has no such form");
  }

  private static InferenceRequest formed(AnswerForm form) {
    return InferenceRequest.of("m", List.of(variantInputs(32, 32)), new ReplySink())
        .answerForm(form)
        .build();
  }

  private static InferenceRequest request(InputTensor... inputs) {
    return request(List.of(), inputs);
  }

  private static InferenceRequest request(List<String> outputs, InputTensor... inputs) {
    return InferenceRequest.of("m", List.of(inputs), new ReplySink()).outputs(outputs).build();
  }

  private static InputTensor i32(String name, long... shape) {
    return new InputTensor(
        name, DType.I32, Shape.of(shape), zeros(Arrays.stream(shape).reduce(4, (a, b) -> a * b)));
  }

  private static TensorData zeros(long bytes) {
    return TensorData.of(MemorySegment.ofArray(new byte[(int) bytes]));
  }

  private static Axis fixed(long extent) {
    return new Axis.Fixed(extent);
  }

  private static TensorSpec tensor(String name, DType dtype, Axis... axes) {
    return new TensorSpec(name, dtype, List.of(axes));
  }

  private static ModelContract contract(
      List<TensorSpec> inputs,
      List<TensorSpec> outputs,
      List<Variant> variants,
      Integer... batchSizes) {
    ModelSpec spec =
        new ModelSpec(
            "m",
            "3",
            ModelSpec.Kind.MODEL,
            "",
            inputs,
            outputs,
            Optional.empty(),
            List.of(batchSizes),
            variants,
            List.of(),
            ServingDefaults.DEFAULT,
            Map.of());
    return ModelContract.of(spec, List.of(batchSizes));
  }
}
