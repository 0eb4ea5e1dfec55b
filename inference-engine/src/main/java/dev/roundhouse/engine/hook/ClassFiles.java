package dev.roundhouse.engine.hook;

import dev.roundhouse.bundle.error.BundleException;
import dev.roundhouse.hooks.guard.Exits;
import java.lang.classfile.Attributes;
import java.lang.classfile.ClassFile;
import java.lang.classfile.ClassFile.ClassHierarchyResolverOption;
import java.lang.classfile.ClassHierarchyResolver;
import java.lang.classfile.ClassHierarchyResolver.ClassHierarchyInfo;
import java.lang.classfile.ClassModel;
import java.lang.classfile.ClassTransform;
import java.lang.classfile.CodeTransform;
import java.lang.classfile.constantpool.ClassEntry;
import java.lang.classfile.constantpool.MemberRefEntry;
import java.lang.classfile.constantpool.MethodHandleEntry;
import java.lang.classfile.constantpool.PoolEntry;
import java.lang.classfile.instruction.InvokeInstruction;
import java.lang.constant.ClassDesc;
import java.lang.constant.ConstantDescs;
import java.lang.constant.MethodTypeDesc;
import java.lang.reflect.AccessFlag;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Readies a bundle's classes to be defined: refuses those that bear names of ours, has calls that
 * would end the process throw, and counts what they allocate. Code that goes by reflection finds
 * its way around that.
 */
final class ClassFiles {
  private static final Logger log = LoggerFactory.getLogger(ClassFiles.class);
  private static final String CLASS = ".class";
  private static final ClassDesc EXITS = ClassDesc.of(Exits.class.getName());
  private static final ClassDesc RUNTIME = ClassDesc.of("java.lang.Runtime");
  private static final MethodTypeDesc EXIT =
      MethodTypeDesc.of(ConstantDescs.CD_void, ConstantDescs.CD_int);
  private static final MethodTypeDesc EXIT_OF_RUNTIME =
      MethodTypeDesc.of(ConstantDescs.CD_void, RUNTIME, ConstantDescs.CD_int);

  private static final CodeTransform NO_EXITS =
      (code, element) -> {
        if (element instanceof InvokeInstruction invoke && isExit(invoke.method())) {
          boolean ofRuntime = invoke.owner().asInternalName().equals("java/lang/Runtime");
          code.invokestatic(EXITS, "exit", ofRuntime ? EXIT_OF_RUNTIME : EXIT);
        } else {
          code.with(element);
        }
      };

  private static final CodeTransform COUNTED =
      (code, element) -> {
        AllocationCounts.beforeAllocation(code, element);
        code.with(element);
      };

  private final String where;
  private final Map<String, byte[]> files;
  private final ClassFile format;

  private ClassFiles(String where, Map<String, byte[]> files) {
    this.where = where;
    this.files = files;
    format = ClassFile.of(ClassHierarchyResolverOption.of(hierarchy()));
  }

  /**
   * The same files, classes readied.
   *
   * @param where file at fault when one is refused
   * @param files by path; others than classes stay as they are
   */
  static Map<String, byte[]> ready(String where, Map<String, byte[]> files) {
    ClassFiles all = new ClassFiles(where, files);
    Map<String, byte[]> ready = new HashMap<>(files);
    for (Map.Entry<String, byte[]> file : files.entrySet()) {
      String path = file.getKey();
      if (path.endsWith(CLASS)
          && !path.startsWith("META-INF/")
          && !path.endsWith("module-info.class")) {
        ready.put(path, all.ready(path, file.getValue()));
      }
    }
    return Map.copyOf(ready);
  }

  /** Of the class in a file. */
  static String name(String path) {
    return path.substring(0, path.length() - CLASS.length()).replace('/', '.');
  }

  private byte[] ready(String path, byte[] bytes) {
    String name = name(path);
    if (name.startsWith("dev.roundhouse.") || name.startsWith("java.")) {
      throw refused(name, "bears a name that is the server's; give its package another");
    }
    try {
      ClassModel model = format.parse(bytes);
      if (!model.thisClass().name().equalsString(name.replace('.', '/'))) {
        throw refused(name, "is " + model.thisClass().asInternalName() + " in truth");
      }
      boolean exits = false;
      for (PoolEntry entry : model.constantPool()) {
        if (entry instanceof MethodHandleEntry handle && isExit(handle.reference())) {
          throw refused(
              name,
              "refers to %s::%s, which would end the server"
                  .formatted(
                      handle.reference().owner().asInternalName(),
                      handle.reference().name().stringValue()));
        }
        exits |= entry instanceof MemberRefEntry member && isExit(member);
      }
      return exits ? changed(model, NO_EXITS.andThen(COUNTED)) : counted(name, model).orElse(bytes);
    } catch (IllegalArgumentException e) {
      throw refused(name, "is no class that this server's Java reads: " + e.getMessage());
    }
  }

  /** None where that takes classes which are not there, as optional parts of a library are. */
  private Optional<byte[]> counted(String name, ClassModel model) {
    try {
      return Optional.of(changed(model, COUNTED));
    } catch (IllegalArgumentException e) {
      log.warn("{}: what class {} allocates is not counted: {}", where, name, e.getMessage());
      return Optional.empty();
    }
  }

  private byte[] changed(ClassModel model, CodeTransform transform) {
    return format.transformClass(
        model,
        ClassTransform.transformingMethodBodies(
            method -> method.findAttribute(Attributes.code()).isPresent(), transform));
  }

  private BundleException refused(String name, String why) {
    return new BundleException(where, "class %s %s".formatted(name, why));
  }

  private static boolean isExit(MemberRefEntry method) {
    String owner = method.owner().asInternalName();
    String name = method.name().stringValue();
    return method.type().equalsString("(I)V")
        && switch (owner) {
          case "java/lang/System" -> name.equals("exit");
          case "java/lang/Runtime" -> name.equals("exit") || name.equals("halt");
          default -> false;
        };
  }

  /** What extends what, for the frames of methods that are changed. */
  private ClassHierarchyResolver hierarchy() {
    ClassHierarchyResolver own = this::parent;
    return own.orElse(ClassHierarchyResolver.ofClassLoading(BundleClassLoader.api())).cached();
  }

  private @Nullable ClassHierarchyInfo parent(ClassDesc of) {
    String descriptor = of.descriptorString();
    byte[] bytes = files.get(descriptor.substring(1, descriptor.length() - 1) + CLASS);
    if (bytes == null) {
      return null;
    }
    ClassModel model = ClassFile.of().parse(bytes);
    return model.flags().has(AccessFlag.INTERFACE)
        ? ClassHierarchyInfo.ofInterface()
        : ClassHierarchyInfo.ofClass(
            model.superclass().map(ClassEntry::asSymbol).orElse(ConstantDescs.CD_Object));
  }
}
