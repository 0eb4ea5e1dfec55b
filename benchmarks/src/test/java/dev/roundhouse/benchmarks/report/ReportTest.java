package dev.roundhouse.benchmarks.report;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.measure.Comparison;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;

class ReportTest {
  private static final Cell MET =
      new Cell(
          "jni", "tiny", new Comparison(1500, 1250, 1.2, 1.1, 1.3), "ns/call", Goal.atMost(1.25));
  private static final Cell MISSED =
      new Cell(
          "infer", "rate", new Comparison(30, 50, 0.6, 0.5, 0.7), "requests/s", Goal.atLeast(0.8));
  private static final Cell UNJUDGED =
      new Cell("infer", "CPU", new Comparison(9, 3, 3, 2, 4), "CPU us/request", null);

  private final ByteArrayOutputStream bytes = new ByteArrayOutputStream();
  private final PrintStream out = new PrintStream(bytes, true, StandardCharsets.UTF_8);

  @Test
  void shouldPrintOneObjectPerCellWhenJsonIsWanted() {
    Report report = new JsonReport(out);
    report.add(MET);
    report.add(MISSED);
    report.add(UNJUDGED);
    report.finish();
    assertThat(bytes.toString(StandardCharsets.UTF_8).lines())
        .containsExactly(
            "{\"bench\":\"jni\",\"cell\":\"tiny\",\"ours\":1500.000,\"peer\":1250.000,\"unit\":\"ns/call\",\"ratio\":1.2000,\"goal\":\"<= 1.25\",\"met\":true}",
            "{\"bench\":\"infer\",\"cell\":\"rate\",\"ours\":30.000,\"peer\":50.000,\"unit\":\"requests/s\",\"ratio\":0.6000,\"goal\":\">= 0.80\",\"met\":false}",
            "{\"bench\":\"infer\",\"cell\":\"CPU\",\"ours\":9.000,\"peer\":3.000,\"unit\":\"CPU us/request\",\"ratio\":3.0000,\"goal\":null,\"met\":null}");
  }

  @Test
  void shouldAlignColumnsAndNameTheWorstJudgedCellWhenATableIsWanted() {
    Report report = new TableReport(out);
    report.add(MET);
    report.add(MISSED);
    report.add(UNJUDGED);
    report.finish();
    assertThat(bytes.toString(StandardCharsets.UTF_8))
        .isEqualToNormalizingNewlines(
            """
            bench  cell   ours   peer  unit            ratio  spread      goal     met
            jni    tiny   1500   1250  ns/call          1.20  1.10..1.30  <= 1.25  yes
            infer  rate  30.00  50.00  requests/s       0.60  0.50..0.70  >= 0.80  NO
            infer  CPU    9.00   3.00  CPU us/request   3.00  2.00..4.00  -        -

            worst cell: infer, rate: ratio 0.60, goal >= 0.80
            """);
  }

  @Test
  void shouldJudgeNothingWhenThereIsNoPeer() {
    Cell alone = new Cell("infer", "rate", Comparison.alone(30), "requests/s", Goal.atLeast(0.8));
    Report table = new TableReport(out);
    table.add(alone);
    table.finish();
    Report json = new JsonReport(out);
    json.add(alone);
    assertThat(bytes.toString(StandardCharsets.UTF_8))
        .isEqualToNormalizingNewlines(
            """
            bench  cell   ours  peer  unit        ratio  spread  goal     met
            infer  rate  30.00     -  requests/s      -  -       >= 0.80  -
            {"bench":"infer","cell":"rate","ours":30.000,"peer":null,"unit":"requests/s","ratio":null,"goal":">= 0.80","met":null}
            """);
  }

  @Test
  void shouldMeetAGoalOfNothingWhenThereIsNothing() {
    assertThat(Goal.atMost(0).metBy(0)).isTrue();
    assertThat(Goal.atMost(0).metBy(0.001)).isFalse();
  }
}
