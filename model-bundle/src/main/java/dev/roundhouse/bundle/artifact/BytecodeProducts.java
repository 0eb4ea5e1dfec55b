package dev.roundhouse.bundle.artifact;

import dev.roundhouse.bundle.artifact.F32Products.Scope;
import dev.roundhouse.bundle.bytecode.ByteCursor;
import dev.roundhouse.bundle.bytecode.ByteSink;
import dev.roundhouse.bundle.bytecode.BytecodeModule;
import dev.roundhouse.bundle.bytecode.MalformedBytecodeException;
import dev.roundhouse.bundle.bytecode.OperationUse;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeSet;

/**
 * The products of a portable artifact (VHLO). Codes of attributes and types are those of
 * StableHLO's {@code VhloBytecode.cpp}, which never change; the properties of an operation are its
 * attributes by the alphabet of their names.
 */
final class BytecodeProducts {
  private static final String VHLO = "vhlo";

  private static final int ARRAY_ATTRIBUTE = 1;
  private static final int INTEGER_ATTRIBUTE = 9;
  private static final int PRECISION_ATTRIBUTE = 11;
  private static final int TYPE_ATTRIBUTE = 17;

  private static final int F32_TYPE = 4;
  private static final int I64_TYPE = 14;
  private static final int NONE_TYPE = 33;
  private static final int TF32_TYPE = 34;

  private static final int HIGHEST = 2;

  /** Where the operation keeps its precision, among how many properties. */
  private record Layout(int precision, int size, boolean hasAlgorithm) {}

  private static final Map<String, Layout> LAYOUTS =
      Map.of(
          "vhlo.dot_general_v2", new Layout(7, 12, true),
          "vhlo.dot_general_v1", new Layout(2, 5, false),
          "vhlo.dot_v1", new Layout(0, 1, false),
          "vhlo.convolution_v1", new Layout(13, 17, false),
          "vhlo.dynamic_conv_v1", new Layout(13, 17, false),
          "vhlo.dynamic_conv_v2", new Layout(12, 16, false));

  // Of dot_general_v2.
  private static final int ACCUMULATION_TYPE = 0;
  private static final int LHS_COMPONENTS = 3;
  private static final int LHS_TYPE = 5;
  private static final int PRIMITIVE_OPERATIONS = 6;
  private static final int RHS_COMPONENTS = 9;
  private static final int RHS_TYPE = 11;

  /** Operations of other dialects that a compiler takes as products, or newer ones of VHLO. */
  private static final Set<String> PRODUCT_NAMES =
      Set.of("dot_general", "dot", "convolution", "dynamic_conv");

  private static final Set<String> UNCHECKED =
      Set.of("custom_call", "cholesky", "triangular_solve");

  private final BytecodeModule module;
  private final Scope scope;
  private final Map<Integer, String> usersOfProperties = new HashMap<>();

  private BytecodeProducts(BytecodeModule module, Scope scope) {
    this.module = module;
    this.scope = scope;
    for (OperationUse operation : module.operations()) {
      usersOfProperties.merge(
          operation.properties(),
          operation.name(),
          (one, other) -> one.equals(other) ? one : one + " and " + other);
    }
  }

  static BytecodeProducts read(byte[] code, Scope scope) {
    return new BytecodeProducts(BytecodeModule.read(code), scope);
  }

  boolean hasTf32() {
    for (int i = 0; i < module.types(); i++) {
      if (typeCode(i) == TF32_TYPE) {
        return true;
      }
    }
    return false;
  }

  /** True while a product is still to be rewritten. */
  boolean isPending() {
    return module.operations().stream()
        .filter(operation -> LAYOUTS.containsKey(operation.name()))
        .anyMatch(operation -> change(operation) != Change.NONE);
  }

  F32Products.Result rewrite(byte[] code) {
    int algorithms = 0;
    int precisions = 0;
    TreeSet<String> unchecked = new TreeSet<>();
    // Operations that share their properties are all counted before the first is changed.
    List<OperationUse> operations = module.operations();
    List<Change> changes = operations.stream().map(this::change).toList();
    for (int i = 0; i < operations.size(); i++) {
      OperationUse operation = operations.get(i);
      switch (changes.get(i)) {
        case NONE -> {
          String kind = kind(operation.name());
          if (scope == Scope.EVERY_PRODUCT && UNCHECKED.contains(kind)) {
            unchecked.add(kind);
          }
        }
        case ALGORITHM -> {
          algorithms++;
          setF32Algorithm(operation);
        }
        case PRECISION -> {
          precisions++;
          setHighest(operation);
        }
      }
    }
    byte[] written = algorithms + precisions == 0 ? code : module.write();
    return new F32Products.Result(written, algorithms, precisions, unchecked);
  }

  private enum Change {
    NONE,
    ALGORITHM,
    PRECISION
  }

  private Change change(OperationUse operation) {
    Layout layout = LAYOUTS.get(operation.name());
    if (layout == null) {
      if (PRODUCT_NAMES.contains(kind(operation.name())) && scope == Scope.EVERY_PRODUCT) {
        throw new MalformedBytecodeException(
            operation.name() + " is an operation whose properties are not known");
      }
      return Change.NONE;
    }
    int[] attributes = attributes(operation, layout);
    if (layout.hasAlgorithm()) {
      if (isTf32(attributes[LHS_TYPE])
          || isTf32(attributes[RHS_TYPE])
          || isTf32(attributes[ACCUMULATION_TYPE])) {
        return Change.ALGORITHM;
      }
      if (namedType(attributes[LHS_TYPE]) != NONE_TYPE) {
        return Change.NONE;
      }
    }
    return scope == Scope.TF32_ALGORITHMS || isHighest(attributes[layout.precision()])
        ? Change.NONE
        : Change.PRECISION;
  }

  private int[] attributes(OperationUse operation, Layout layout) {
    if (operation.properties() == OperationUse.NONE) {
      throw new MalformedBytecodeException(operation.name() + " has no properties");
    }
    String users = usersOfProperties.get(operation.properties());
    if (!operation.name().equals(users)) {
      throw new MalformedBytecodeException(users + " share their properties");
    }
    int[] attributes = module.attributesOf(operation);
    if (attributes.length != layout.size()) {
      throw new MalformedBytecodeException(
          operation.name() + " has " + attributes.length + " properties, not " + layout.size());
    }
    return attributes;
  }

  private static Layout layout(OperationUse operation) {
    return Objects.requireNonNull(LAYOUTS.get(operation.name()));
  }

  private void setF32Algorithm(OperationUse operation) {
    int[] attributes = attributes(operation, layout(operation));
    int f32 = module.type(VHLO, new ByteSink().varInt(F32_TYPE));
    int named = module.attribute(VHLO, new ByteSink().varInt(TYPE_ATTRIBUTE).varInt(f32));
    attributes[LHS_TYPE] = named;
    attributes[RHS_TYPE] = named;
    attributes[ACCUMULATION_TYPE] = named;
    for (int count : new int[] {LHS_COMPONENTS, RHS_COMPONENTS, PRIMITIVE_OPERATIONS}) {
      attributes[count] = one(attributes[count]);
    }
    module.setAttributes(operation, attributes);
  }

  /** The same integer type with the value 1. */
  private int one(int attribute) {
    ByteCursor cursor = module.attribute(attribute, VHLO);
    if (!cursor.hasMore() || cursor.count() != INTEGER_ATTRIBUTE) {
      throw new MalformedBytecodeException("a dot's algorithm has a count that is no integer");
    }
    int type = cursor.count();
    if (typeCode(type) != I64_TYPE) {
      throw new MalformedBytecodeException("a dot's algorithm has a count that is no i64");
    }
    // Signed integers are zigzagged: 1 is 2.
    return module.attribute(VHLO, new ByteSink().varInt(INTEGER_ATTRIBUTE).varInt(type).varInt(2));
  }

  private void setHighest(OperationUse operation) {
    Layout layout = layout(operation);
    int[] attributes = attributes(operation, layout);
    int highest =
        module.attribute(VHLO, new ByteSink().varInt(PRECISION_ATTRIBUTE).varInt(HIGHEST));
    attributes[layout.precision()] =
        module.attribute(
            VHLO, new ByteSink().varInt(ARRAY_ATTRIBUTE).varInt(2).varInt(highest).varInt(highest));
    module.setAttributes(operation, attributes);
  }

  private boolean isHighest(int attribute) {
    ByteCursor array = module.attribute(attribute, VHLO);
    if (!array.hasMore() || array.count() != ARRAY_ATTRIBUTE) {
      throw new MalformedBytecodeException("a product's precision is no array");
    }
    int operands = array.count();
    boolean highest = operands == 2;
    for (int i = 0; i < operands; i++) {
      ByteCursor precision = module.attribute(array.count(), VHLO);
      if (!precision.hasMore() || precision.count() != PRECISION_ATTRIBUTE) {
        throw new MalformedBytecodeException("a product's precision is of another kind");
      }
      highest &= precision.count() == HIGHEST;
    }
    array.expectEnd();
    return highest;
  }

  private boolean isTf32(int attribute) {
    return namedType(attribute) == TF32_TYPE;
  }

  /** The code of the type that an attribute names. */
  private int namedType(int attribute) {
    ByteCursor cursor = module.attribute(attribute, VHLO);
    if (!cursor.hasMore() || cursor.count() != TYPE_ATTRIBUTE) {
      throw new MalformedBytecodeException("a dot's algorithm names a type by no type attribute");
    }
    int type = cursor.count();
    cursor.expectEnd();
    return typeCode(type);
  }

  private int typeCode(int type) {
    ByteCursor cursor = module.type(type, VHLO);
    return cursor.hasMore() ? cursor.count() : -1;
  }

  /** The name without dialect and version. */
  static String kind(String name) {
    return name.substring(name.lastIndexOf('.') + 1).replaceFirst("_v[0-9]+$", "");
  }
}
