package dev.roundhouse.engine.device;

import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;
import static com.tngtech.archunit.library.dependencies.SlicesRuleDefinition.slices;

import com.tngtech.archunit.core.importer.ImportOption.DoNotIncludeTests;
import com.tngtech.archunit.junit.AnalyzeClasses;
import com.tngtech.archunit.junit.ArchTest;
import com.tngtech.archunit.lang.ArchRule;

@AnalyzeClasses(packages = "dev.roundhouse.engine", importOptions = DoNotIncludeTests.class)
class ArchitectureTest {
  /** A device is written without the engine, and the engine without knowing which device. */
  @ArchTest
  static final ArchRule KNOWS_TENSORS_AND_A_CLOCK_AND_NOTHING_OF_THE_ENGINE =
      classes()
          .should()
          .onlyDependOnClassesThat()
          .resideInAnyPackage(
              "dev.roundhouse.engine.device..",
              "dev.roundhouse.engine.time..",
              "dev.roundhouse.bundle..",
              "java..",
              "org.jspecify..");

  @ArchTest
  static final ArchRule PACKAGES_HAVE_NO_CYCLES =
      slices().matching("dev.roundhouse.engine.(*)..").should().beFreeOfCycles();
}
