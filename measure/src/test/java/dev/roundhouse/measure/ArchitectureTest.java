package dev.roundhouse.measure;

import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static com.tngtech.archunit.library.dependencies.SlicesRuleDefinition.slices;

import com.tngtech.archunit.core.importer.ImportOption.DoNotIncludeTests;
import com.tngtech.archunit.junit.AnalyzeClasses;
import com.tngtech.archunit.junit.ArchTest;
import com.tngtech.archunit.lang.ArchRule;

@AnalyzeClasses(packages = "dev.roundhouse.measure", importOptions = DoNotIncludeTests.class)
class ArchitectureTest {
  /** What measures a device in a pack measures it in benches too, whatever the device is. */
  @ArchTest
  static final ArchRule KNOWS_NO_SERVER_NO_WIRE_NO_PLUGIN =
      noClasses()
          .should()
          .dependOnClassesThat()
          .resideInAnyPackage(
              "dev.roundhouse.benchmarks..",
              "dev.roundhouse.kserve..",
              "dev.roundhouse.pjrt..",
              "dev.roundhouse.worker..",
              "io.grpc..",
              "org.springframework..");

  @ArchTest
  static final ArchRule PACKAGES_HAVE_NO_CYCLES =
      slices().matching("dev.roundhouse.(**)").should().beFreeOfCycles();
}
