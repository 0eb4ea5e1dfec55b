package dev.roundhouse.pjrt;

import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;

import com.tngtech.archunit.core.importer.ImportOption.DoNotIncludeTests;
import com.tngtech.archunit.junit.AnalyzeClasses;
import com.tngtech.archunit.junit.ArchTest;
import com.tngtech.archunit.lang.ArchRule;

@AnalyzeClasses(packages = "dev.roundhouse.pjrt", importOptions = DoNotIncludeTests.class)
class ArchitectureTest {
  @ArchTest
  static final ArchRule KNOWS_THE_DEVICE_SPI_AND_NOTHING_ELSE_OF_THE_ENGINE =
      classes()
          .should()
          .onlyDependOnClassesThat()
          .resideInAnyPackage(
              "dev.roundhouse.pjrt..",
              "dev.roundhouse.engine.device..",
              "dev.roundhouse.bundle..",
              "java..",
              "com.sun.management..",
              "org.slf4j..",
              "org.jspecify..");
}
