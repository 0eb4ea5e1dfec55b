package dev.roundhouse.bundle.artifact;

import dev.roundhouse.bundle.artifact.Comparator.Element;
import dev.roundhouse.bundle.artifact.Comparator.Step;
import dev.roundhouse.bundle.bytecode.BytecodeModule;
import dev.roundhouse.bundle.bytecode.OperationUse;
import dev.roundhouse.bundle.bytecode.OperationUse.BlockUse;
import dev.roundhouse.bundle.error.BundleException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Holds a portable artifact's custom calls, top-k, comparators of sorts and calls against what XLA
 * bears, as {@link TextHazards} and {@link TextModule} do for text.
 */
final class BytecodeHazards {
  /** Ops that wait for a host that never answers: XLA hangs on them forever. */
  private static final Set<String> HANGING_OPS = Set.of("infeed", "outfeed", "send", "recv");

  /** What XLA has no operation for. */
  private static final Set<String> NO_WORK = Set.of("call", "return", "func");

  private final VhloAttributes attributes;
  private final String fileName;
  private final CallGraph calls = new CallGraph();

  /** What made the values that can be seen at the moment, and their types, by their numbers. */
  private final Map<Integer, OperationUse> makers = new HashMap<>();

  private final Map<Integer, Integer> types = new HashMap<>();

  private BytecodeHazards(BytecodeModule module, String fileName) {
    this.attributes = new VhloAttributes(module);
    this.fileName = fileName;
  }

  static void check(BytecodeModule module, String fileName) {
    BytecodeHazards hazards = new BytecodeHazards(module, fileName);
    hazards.block(module.root(), "");
    List<String> cycle = hazards.calls.cycle().orElse(List.of());
    if (!cycle.isEmpty()) {
      throw hazards.refused(CallGraph.recursion(cycle));
    }
    InlinedSize.refusal(hazards.calls)
        .ifPresent(
            refusal -> {
              throw hazards.refused(refusal);
            });
  }

  private BundleException refused(String reason) {
    return new BundleException(fileName, reason);
  }

  private void block(BlockUse block, String function) {
    for (int i = 0; i < block.argumentTypes().size(); i++) {
      define(block.firstArgument() + i, block.argumentTypes().get(i), null);
    }
    for (OperationUse operation : block.operations()) {
      operation(operation, function);
    }
  }

  private void define(int value, int type, @Nullable OperationUse maker) {
    types.put(value, type);
    if (maker == null) {
      makers.remove(value);
    } else {
      makers.put(value, maker);
    }
  }

  private void operation(OperationUse operation, String function) {
    String inside = function;
    String kind = BytecodeProducts.kind(operation.name());
    if (HANGING_OPS.contains(kind)) {
      throw refused(
          "op '" + operation.name() + "' waits for a host that never answers; it is refused");
    }
    if (!function.isEmpty() && !NO_WORK.contains(kind)) {
      calls.addOperation(function);
    }
    switch (operation.name()) {
      case "vhlo.func_v1" -> {
        inside = attributes.text(operation, 3, 5).orElse("?");
        calls.addFunction(inside);
      }
      case "vhlo.call_v1" ->
          attributes.text(operation, 0, 1).ifPresent(callee -> calls.addCall(function, callee));
      case "vhlo.composite_v1" -> composite(operation, function, 4);
      case "vhlo.composite_v2" -> composite(operation, function, 5);
      case "vhlo.custom_call_v1" -> customCall(operation);
      case "vhlo.sort_v1" -> sort(operation);
      default -> {}
    }
    for (List<BlockUse> region : operation.regions()) {
      for (BlockUse block : region) {
        block(block, inside);
      }
    }
    for (int i = 0; i < operation.resultTypes().size(); i++) {
      define(operation.firstResult() + i, operation.resultTypes().get(i), operation);
    }
  }

  private void composite(OperationUse operation, String function, int properties) {
    attributes
        .text(operation, 1, properties)
        .ifPresent(decomposition -> calls.addCall(function, decomposition));
    String name = attributes.text(operation, 2, properties).orElse("");
    if (CustomCalls.isTopK(name)) {
      topK(name, operation);
    }
  }

  private void customCall(OperationUse operation) {
    String target =
        attributes
            .text(operation, 2, 8)
            .orElseThrow(
                () ->
                    refused(
                        "custom_call whose target cannot be read; export it as StableHLO text"));
    CustomCalls.refusal(target)
        .ifPresent(
            refusal -> {
              throw refused(refusal);
            });
    if (CustomCalls.isTopK(target)) {
      topK(target, operation);
    }
  }

  private void topK(String target, OperationUse operation) {
    Integer operand =
        operation.operands().isEmpty() ? null : types.get(operation.operands().getFirst());
    long given = operand == null ? -1 : attributes.lastExtent(operand);
    long taken = -1;
    for (int type : operation.resultTypes()) {
      for (int element : attributes.elements(type)) {
        taken = Math.max(taken, attributes.lastExtent(element));
      }
    }
    if (given < 0 || taken < 0) {
      throw refused(CustomCalls.unclearTopK(target));
    }
    CustomCalls.topKRefusal(target, taken, given)
        .ifPresent(
            refusal -> {
              throw refused(refusal);
            });
  }

  private void sort(OperationUse operation) {
    if (operation.regions().size() == 1 && operation.regions().getFirst().size() == 1) {
      comparator(operation.regions().getFirst().getFirst())
          .flatMap(Comparator::refusal)
          .ifPresent(
              refusal -> {
                throw refused(
                    refusal + ": XLA reads outside its memory over it; compare by LT or GT");
              });
    }
  }

  private Optional<Comparator> comparator(BlockUse block) {
    List<Element> arguments = new ArrayList<>();
    Map<Integer, Integer> values = new HashMap<>();
    for (int i = 0; i < block.argumentTypes().size(); i++) {
      values.put(block.firstArgument() + i, i);
      arguments.add(attributes.element(block.argumentTypes().get(i)));
    }
    if (arguments.isEmpty() || arguments.size() % 2 != 0) {
      return Optional.empty();
    }
    List<Step> steps = new ArrayList<>();
    for (OperationUse operation : block.operations()) {
      List<Integer> operands = new ArrayList<>();
      for (int operand : operation.operands()) {
        Integer known = values.get(operand);
        if (known == null) { // of outside
          known = arguments.size() + steps.size();
          OperationUse maker = makers.get(operand);
          steps.add(maker == null ? other() : constant(maker));
          values.put(operand, known);
        }
        operands.add(known);
      }
      if (operation.name().startsWith("vhlo.return")) {
        return operands.size() == 1
            ? Optional.of(new Comparator(arguments, steps, operands.getFirst()))
            : Optional.empty();
      }
      if (operation.resultTypes().size() != 1) {
        return Optional.empty();
      }
      values.put(operation.firstResult(), arguments.size() + steps.size());
      steps.add(step(operation, operands));
    }
    return Optional.empty();
  }

  private Step step(OperationUse operation, List<Integer> operands) {
    return switch (operation.name()) {
      case "vhlo.compare_v1" ->
          attributes
              .comparison(operation)
              .map(how -> new Step(Comparator.Kind.COMPARE, how, operands, 0))
              .orElse(other());
      case "vhlo.and_v1" -> new Step(Comparator.Kind.AND, "", operands, 0);
      case "vhlo.or_v1" -> new Step(Comparator.Kind.OR, "", operands, 0);
      case "vhlo.xor_v1" -> new Step(Comparator.Kind.XOR, "", operands, 0);
      case "vhlo.not_v1" -> new Step(Comparator.Kind.NOT, "", operands, 0);
      case "vhlo.select_v1" -> new Step(Comparator.Kind.SELECT, "", operands, 0);
      case "vhlo.constant_v1" -> constant(operation);
      default -> other();
    };
  }

  private Step constant(OperationUse operation) {
    return attributes
        .scalar(operation)
        .map(number -> new Step(Comparator.Kind.CONSTANT, "", List.of(), number))
        .orElse(other());
  }

  private static Step other() {
    return new Step(Comparator.Kind.OTHER, "", List.of(), 0);
  }
}
