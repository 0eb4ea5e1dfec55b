package dev.roundhouse.client;

import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static com.tngtech.archunit.library.dependencies.SlicesRuleDefinition.slices;

import com.tngtech.archunit.core.importer.ImportOption.DoNotIncludeTests;
import com.tngtech.archunit.junit.AnalyzeClasses;
import com.tngtech.archunit.junit.ArchTest;
import com.tngtech.archunit.lang.ArchRule;

@AnalyzeClasses(packages = "dev.roundhouse.client", importOptions = DoNotIncludeTests.class)
class ArchitectureTest {

  @ArchTest
  static final ArchRule KNOWS_THE_WIRE_AND_NO_SERVER =
      noClasses()
          .should()
          .dependOnClassesThat()
          .resideInAnyPackage(
              "dev.roundhouse.engine..",
              "dev.roundhouse.pjrt..",
              "dev.roundhouse.worker..",
              "dev.roundhouse.gateway..",
              "dev.roundhouse.transport.http2..",
              "org.springframework..");

  @ArchTest
  static final ArchRule PARTS_KNOW_NO_CONNECTION =
      noClasses()
          .that()
          .resideInAnyPackage(
              "..client.tensor..", "..client.retry..", "..client.shm..", "..client.pool..")
          .should()
          .dependOnClassesThat()
          .resideInAnyPackage(
              "io.grpc..", "com.google.protobuf..", "dev.roundhouse.kserve.proto..");

  @ArchTest
  static final ArchRule NO_CYCLES =
      slices().matching("dev.roundhouse.client.(**)").should().beFreeOfCycles();
}
