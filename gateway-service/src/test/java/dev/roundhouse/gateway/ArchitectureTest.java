package dev.roundhouse.gateway;

import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static com.tngtech.archunit.library.dependencies.SlicesRuleDefinition.slices;

import com.tngtech.archunit.core.importer.ImportOption.DoNotIncludeTests;
import com.tngtech.archunit.junit.AnalyzeClasses;
import com.tngtech.archunit.junit.ArchTest;
import com.tngtech.archunit.lang.ArchRule;

@AnalyzeClasses(packages = "dev.roundhouse.gateway", importOptions = DoNotIncludeTests.class)
class ArchitectureTest {

  @ArchTest
  static final ArchRule KNOWS_NO_ENGINE =
      noClasses()
          .should()
          .dependOnClassesThat()
          .resideInAnyPackage(
              "dev.roundhouse.engine..", "dev.roundhouse.pjrt..", "dev.roundhouse.worker..");

  @ArchTest
  static final ArchRule PLACEMENT_IS_PURE =
      noClasses()
          .that()
          .resideInAPackage("..placement..")
          .should()
          .dependOnClassesThat()
          .resideOutsideOfPackages("..placement..", "java..", "org.jspecify..");

  @ArchTest
  static final ArchRule NO_CYCLES =
      slices().matching("dev.roundhouse.gateway.(**)").should().beFreeOfCycles();

  /** Names, units and texts of metrics are in one place. */
  @ArchTest
  static final ArchRule METERS_ARE_MADE_IN_ONE_PLACE =
      noClasses()
          .that()
          .resideOutsideOfPackage("dev.roundhouse.platform.metrics..")
          .should()
          .dependOnClassesThat()
          .haveNameMatching(
              "io\\.micrometer\\.core\\.instrument\\.(Gauge|MultiGauge|TimeGauge|FunctionCounter|FunctionTimer"
                  + "|DistributionSummary|LongTaskTimer|Metrics)"
                  + "|io\\.micrometer\\..*\\$Builder"
                  + "|io\\.prometheus\\..*Snapshot");
}
