package dev.roundhouse.worker;

import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static com.tngtech.archunit.library.dependencies.SlicesRuleDefinition.slices;

import com.tngtech.archunit.core.importer.ImportOption.DoNotIncludeTests;
import com.tngtech.archunit.junit.AnalyzeClasses;
import com.tngtech.archunit.junit.ArchTest;
import com.tngtech.archunit.lang.ArchRule;

@AnalyzeClasses(packages = "dev.roundhouse.worker", importOptions = DoNotIncludeTests.class)
class ArchitectureTest {

  @ArchTest
  static final ArchRule ONLY_WIRING_KNOWS_THE_BINDING =
      noClasses()
          .that()
          .resideOutsideOfPackage("..worker.wiring..")
          .should()
          .dependOnClassesThat()
          .resideInAPackage("dev.roundhouse.pjrt..");

  @ArchTest
  static final ArchRule NO_CYCLES =
      slices().matching("dev.roundhouse.worker.(**)").should().beFreeOfCycles();

  @ArchTest
  static final ArchRule PROTOBUF_STAYS_IN_TRANSPORTS =
      noClasses()
          .that()
          .resideOutsideOfPackage("..worker.transport..")
          .should()
          .dependOnClassesThat()
          .resideInAnyPackage("com.google.protobuf..", "dev.roundhouse.kserve.proto..");

  @ArchTest
  static final ArchRule NOBODY_BUILDS_ON_WIRING =
      noClasses()
          .that()
          .resideOutsideOfPackage("..worker.wiring..")
          .should()
          .dependOnClassesThat()
          .resideInAPackage("..worker.wiring..");

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
