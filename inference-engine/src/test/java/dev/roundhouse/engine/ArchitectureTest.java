package dev.roundhouse.engine;

import static com.tngtech.archunit.base.DescribedPredicate.not;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAPackage;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAnyPackage;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static com.tngtech.archunit.library.Architectures.layeredArchitecture;
import static com.tngtech.archunit.library.dependencies.SlicesRuleDefinition.slices;

import com.tngtech.archunit.core.importer.ImportOption.DoNotIncludeTests;
import com.tngtech.archunit.junit.AnalyzeClasses;
import com.tngtech.archunit.junit.ArchTest;
import com.tngtech.archunit.lang.ArchRule;

@AnalyzeClasses(packages = "dev.roundhouse.engine", importOptions = DoNotIncludeTests.class)
class ArchitectureTest {
  @ArchTest
  static final ArchRule STATIONS_HAVE_NO_CYCLES =
      slices().matching("dev.roundhouse.engine.(*)..").should().beFreeOfCycles();

  @ArchTest
  static final ArchRule EACH_LAYER_KNOWS_THOSE_BELOW =
      layeredArchitecture()
          .consideringOnlyDependenciesInLayers()
          .layer("layout")
          .definedBy("dev.roundhouse.engine.layout..")
          .layer("lane")
          .definedBy("dev.roundhouse.engine.lane..")
          .layer("batch")
          .definedBy("dev.roundhouse.engine.batch..")
          .layer("deliver")
          .definedBy("dev.roundhouse.engine.deliver..")
          .layer("dispatch")
          .definedBy("dev.roundhouse.engine.dispatch..")
          .whereLayer("layout")
          .mayNotAccessAnyLayer()
          .whereLayer("lane")
          .mayOnlyAccessLayers("layout")
          .whereLayer("batch")
          .mayOnlyAccessLayers("layout", "lane")
          .whereLayer("deliver")
          .mayOnlyAccessLayers("layout", "lane", "batch");

  @ArchTest
  static final ArchRule HOST_WEIGHTS_KNOW_THE_DEVICE_AND_NOTHING_ABOVE =
      noClasses()
          .that()
          .resideInAPackage("dev.roundhouse.engine.hostweights..")
          .should()
          .dependOnClassesThat(
              resideInAPackage("dev.roundhouse.engine..")
                  .and(
                      not(
                          resideInAnyPackage(
                              "dev.roundhouse.engine.hostweights..",
                              "dev.roundhouse.engine.device.."))));

  @ArchTest
  static final ArchRule KNOWS_NO_WIRE_NO_SPRING_NO_PLUGIN =
      noClasses()
          .should()
          .dependOnClassesThat()
          .resideInAnyPackage(
              "org.springframework..",
              "com.google.protobuf..",
              "io.grpc..",
              "dev.roundhouse.kserve..",
              "dev.roundhouse.pjrt..",
              "dev.roundhouse.worker..");

  @ArchTest
  static final ArchRule SCHEDULING_IS_PURE =
      classes()
          .that()
          .resideInAPackage("dev.roundhouse.engine.schedule..")
          .should()
          .onlyDependOnClassesThat()
          .resideInAnyPackage(
              "dev.roundhouse.engine.schedule..", "java.lang..", "java.util..", "org.jspecify..");

  @ArchTest
  static final ArchRule EVICTION_IS_PURE =
      classes()
          .that()
          .resideInAPackage("dev.roundhouse.engine.evict..")
          .should()
          .onlyDependOnClassesThat()
          .resideInAnyPackage(
              "dev.roundhouse.engine.evict..",
              "dev.roundhouse.engine.schedule..",
              "java.lang..",
              "java.util..",
              "org.jspecify..");

  @ArchTest
  static final ArchRule SCHEDULING_AND_EVICTION_KNOW_NO_CLOCK_AND_NO_THREAD =
      noClasses()
          .that()
          .resideInAnyPackage("dev.roundhouse.engine.schedule..", "dev.roundhouse.engine.evict..")
          .should()
          .callMethod(System.class, "nanoTime")
          .orShould()
          .callMethod(System.class, "currentTimeMillis")
          .orShould()
          .dependOnClassesThat()
          .areAssignableTo(Thread.class);

  /** The probe of {@code numerics} runs once, before there is a dispatch thread. */
  @ArchTest
  static final ArchRule ONLY_DISPATCH_EXECUTES =
      noClasses()
          .that()
          .resideOutsideOfPackages(
              "dev.roundhouse.engine.dispatch..",
              "dev.roundhouse.engine.device..",
              "dev.roundhouse.engine.numerics..")
          .should()
          .callMethod(
              "dev.roundhouse.engine.device.Device",
              "execute",
              "dev.roundhouse.engine.device.DeviceProgram",
              "[Ldev.roundhouse.engine.device.DeviceBuffer;");
}
