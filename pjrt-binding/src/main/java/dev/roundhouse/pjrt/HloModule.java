package dev.roundhouse.pjrt;

import dev.roundhouse.bundle.tensor.Shape;
import dev.roundhouse.bundle.tensor.TensorType;
import dev.roundhouse.engine.device.DeviceException;
import dev.roundhouse.engine.device.DeviceException.Code;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * What the C API does not report about a compiled program: the types and layouts its entry takes
 * and returns, and whether it holds an op that would wait forever. Read from the optimised program,
 * so it holds for text, bytecode and deserialised executables alike. Field numbers are of
 * xla/service/hlo.proto and xla/xla_data.proto.
 */
record HloModule(List<Value> parameters, List<Value> results) {

  /** A parameter or result; {@code rowMajor} tells its layout on the device. */
  record Value(TensorType type, boolean rowMajor) {}

  /** Ops that talk to a host that is not there; no call of the C API can cancel them. */
  private static final Set<String> WAITING_OPS =
      Set.of("infeed", "outfeed", "send", "send-done", "recv", "recv-done");

  private static final int TUPLE = 13;

  /**
   * @param format {@code hlo} or {@code hlo_with_config}, as the plugin names it
   * @throws DeviceException when the program must not run, or cannot be understood
   */
  static HloModule read(String format, byte[] bytes) {
    ProtoReader module = new ProtoReader(bytes);
    if (format.equals("hlo_with_config")) {
      return new Parser().module(only(module, 1));
    }
    if (format.equals("hlo")) {
      return new Parser().module(module);
    }
    throw new DeviceException(
        Code.UNSUPPORTED,
        "the plugin describes compiled programs as '"
            + format
            + "'; hlo or hlo_with_config is needed to check arguments");
  }

  private static ProtoReader only(ProtoReader message, int field) {
    while (message.next()) {
      if (message.field() == field) {
        return message.message();
      }
    }
    throw new DeviceException(Code.INTERNAL, "the compiled program has no field " + field);
  }

  private static final class Parser {
    private final List<Value> parameters = new ArrayList<>();
    private final List<Value> results = new ArrayList<>();
    private final Map<Long, Long> rootOfComputation = new HashMap<>();
    private final Set<Long> constantTrue = new HashSet<>();
    private final List<Long> whileConditions = new ArrayList<>();

    HloModule module(ProtoReader module) {
      while (module.next()) {
        switch (module.field()) {
          case 3 -> computation(module.message());
          case 4 -> programShape(module.message());
          default -> {}
        }
      }
      for (long condition : whileConditions) {
        if (constantTrue.contains(rootOfComputation.get(condition))) {
          throw new DeviceException(
              Code.INVALID_ARGUMENT,
              "the program has a while loop whose condition is always true; it would never end");
        }
      }
      return new HloModule(List.copyOf(parameters), List.copyOf(results));
    }

    private void programShape(ProtoReader shape) {
      while (shape.next()) {
        switch (shape.field()) {
          case 1 -> values(shape.message(), "parameter", parameters);
          case 2 -> values(shape.message(), "result", results);
          default -> {}
        }
      }
    }

    private void values(ProtoReader shape, String role, List<Value> into) {
      int elementType = 0;
      List<Long> dims = new ArrayList<>();
      List<Long> minorToMajor = new ArrayList<>();
      while (shape.next()) {
        switch (shape.field()) {
          case 2 -> elementType = (int) shape.varint();
          case 3 -> shape.varints(dims::add);
          case 4 -> values(shape.message(), role, into);
          case 5 -> layout(shape.message(), minorToMajor);
          case 6 -> shape.varints(dynamic -> refuseDynamic(role, into.size(), dynamic));
          default -> {}
        }
      }
      if (elementType == TUPLE) {
        return;
      }
      int primitive = elementType;
      ElementType type =
          ElementType.fromPrimitiveType(primitive)
              .orElseThrow(
                  () ->
                      new DeviceException(
                          Code.UNSUPPORTED,
                          "%s %d has XLA element type %d, which no tensor here has (complex, 4-bit and token types are not served)"
                              .formatted(role, into.size(), primitive)));
      Shape extents = Shape.of(dims.stream().mapToLong(Long::longValue).toArray());
      into.add(new Value(new TensorType(type.dtype(), extents), rowMajor(minorToMajor)));
    }

    /** Its buffers hold as many elements as a run says, and the type as many as there may be. */
    private static void refuseDynamic(String role, int index, long dynamic) {
      if (dynamic != 0) {
        throw new DeviceException(
            Code.UNSUPPORTED,
            "%s %d has an extent that is known only at run time; export it with fixed shapes"
                .formatted(role, index));
      }
    }

    private void layout(ProtoReader layout, List<Long> minorToMajor) {
      while (layout.next()) {
        if (layout.field() == 1) {
          layout.varints(minorToMajor::add);
        }
      }
    }

    private boolean rowMajor(List<Long> minorToMajor) {
      for (int i = 0; i < minorToMajor.size(); i++) {
        if (minorToMajor.get(i) != minorToMajor.size() - 1 - i) {
          return false;
        }
      }
      return true;
    }

    private void computation(ProtoReader computation) {
      long id = 0;
      long root = 0;
      while (computation.next()) {
        switch (computation.field()) {
          case 2 -> instruction(computation.message());
          case 5 -> id = computation.varint();
          case 6 -> root = computation.varint();
          default -> {}
        }
      }
      rootOfComputation.put(id, root);
    }

    private void instruction(ProtoReader instruction) {
      String opcode = "";
      long id = 0;
      boolean literalTrue = false;
      List<Long> called = new ArrayList<>();
      while (instruction.next()) {
        switch (instruction.field()) {
          case 2 -> opcode = instruction.string();
          case 8 -> literalTrue = literalTrue(instruction.message());
          case 35 -> id = instruction.varint();
          case 38 -> instruction.varints(called::add);
          default -> {}
        }
      }
      if (WAITING_OPS.contains(opcode)) {
        throw new DeviceException(
            Code.INVALID_ARGUMENT,
            "the program has the op " + opcode + ", which would wait for ever; remove it");
      }
      if (opcode.equals("constant") && literalTrue) {
        constantTrue.add(id);
      }
      if (opcode.equals("while")) {
        whileConditions.addAll(called);
      }
    }

    private boolean literalTrue(ProtoReader literal) {
      List<Long> predicates = new ArrayList<>();
      while (literal.next()) {
        if (literal.field() == 2) {
          literal.varints(predicates::add);
        }
      }
      return predicates.equals(List.of(1L));
    }
  }
}
