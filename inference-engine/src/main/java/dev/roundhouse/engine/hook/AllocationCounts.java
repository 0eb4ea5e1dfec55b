package dev.roundhouse.engine.hook;

import dev.roundhouse.hooks.guard.Allocations;
import java.lang.classfile.CodeBuilder;
import java.lang.classfile.CodeElement;
import java.lang.classfile.TypeKind;
import java.lang.classfile.instruction.InvokeInstruction;
import java.lang.classfile.instruction.NewMultiArrayInstruction;
import java.lang.classfile.instruction.NewObjectInstruction;
import java.lang.classfile.instruction.NewPrimitiveArrayInstruction;
import java.lang.classfile.instruction.NewReferenceArrayInstruction;
import java.lang.constant.ClassDesc;
import java.lang.constant.ConstantDescs;
import java.lang.constant.MethodTypeDesc;
import java.util.Set;

/** Has code tell {@link Allocations} what it is about to allocate. */
final class AllocationCounts {
  private static final ClassDesc ALLOCATIONS = ClassDesc.of(Allocations.class.getName());
  private static final MethodTypeDesc OBJECT = MethodTypeDesc.of(ConstantDescs.CD_void);
  private static final MethodTypeDesc ARRAY =
      MethodTypeDesc.of(ConstantDescs.CD_void, ConstantDescs.CD_int, ConstantDescs.CD_int);
  private static final MethodTypeDesc ARRAYS =
      MethodTypeDesc.of(ConstantDescs.CD_void, ConstantDescs.CD_double, ConstantDescs.CD_int);
  private static final int REFERENCE_BYTES = 4;

  /** What a compiler makes boxes with. */
  private static final Set<String> BOXES =
      Set.of(
          "java/lang/Integer",
          "java/lang/Long",
          "java/lang/Float",
          "java/lang/Double",
          "java/lang/Short",
          "java/lang/Character");

  private AllocationCounts() {}

  /** Adds what tells of an element's allocation, when it makes one; it comes after. */
  static void beforeAllocation(CodeBuilder code, CodeElement element) {
    switch (element) {
      case NewObjectInstruction _ -> object(code);
      case InvokeInstruction invoke when isBoxing(invoke) -> object(code);
      case NewPrimitiveArrayInstruction array -> array(code, bytes(array.typeKind()));
      case NewReferenceArrayInstruction _ -> array(code, REFERENCE_BYTES);
      case NewMultiArrayInstruction arrays -> arrays(code, arrays);
      default -> {}
    }
  }

  private static void object(CodeBuilder code) {
    code.invokestatic(ALLOCATIONS, "object", OBJECT);
  }

  private static void array(CodeBuilder code, int elementBytes) {
    code.dup().loadConstant(elementBytes).invokestatic(ALLOCATIONS, "array", ARRAY);
  }

  /** Lengths are on the stack, the last on top: they are kept, multiplied and put back. */
  private static void arrays(CodeBuilder code, NewMultiArrayInstruction arrays) {
    int[] lengths = new int[arrays.dimensions()];
    for (int i = lengths.length - 1; i >= 0; i--) {
      lengths[i] = code.allocateLocal(TypeKind.INT);
      code.istore(lengths[i]);
    }
    code.dconst_1();
    for (int length : lengths) {
      code.iload(length).i2d().dmul();
    }
    code.loadConstant(elementBytes(arrays)).invokestatic(ALLOCATIONS, "arrays", ARRAYS);
    for (int length : lengths) {
      code.iload(length);
    }
  }

  /** Of the innermost arrays that are made. */
  private static int elementBytes(NewMultiArrayInstruction arrays) {
    ClassDesc type = arrays.arrayType().asSymbol();
    for (int i = 0; i < arrays.dimensions() && type.componentType() != null; i++) {
      type = type.componentType();
    }
    return bytes(TypeKind.from(type));
  }

  private static int bytes(TypeKind kind) {
    return switch (kind) {
      case BOOLEAN, BYTE -> 1;
      case SHORT, CHAR -> Short.BYTES;
      case LONG, DOUBLE -> Long.BYTES;
      default -> REFERENCE_BYTES;
    };
  }

  private static boolean isBoxing(InvokeInstruction invoke) {
    return invoke.name().equalsString("valueOf")
        && BOXES.contains(invoke.owner().asInternalName())
        && invoke.typeSymbol().parameterType(0).isPrimitive();
  }
}
