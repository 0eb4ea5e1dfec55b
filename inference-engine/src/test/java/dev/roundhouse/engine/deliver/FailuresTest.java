package dev.roundhouse.engine.deliver;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.engine.device.DeviceException;
import dev.roundhouse.engine.device.DeviceException.Code;
import dev.roundhouse.engine.request.Outcome;
import dev.roundhouse.engine.request.Status;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class FailuresTest {
  private final Failures failures = new Failures();

  @ParameterizedTest
  @CsvSource({
    "OUT_OF_MEMORY, RESOURCE_EXHAUSTED",
    "UNSUPPORTED, UNIMPLEMENTED",
    "DEVICE_LOST, UNAVAILABLE",
    "INVALID_ARGUMENT, INTERNAL",
    "CLOSED, INTERNAL",
    "INTERNAL, INTERNAL",
  })
  void shouldSayWhatTheDeviceSaid(Code code, Status status) {
    DeviceException cause = new DeviceException(code, "bad luck");
    assertThat(failures.outcome("m", cause))
        .isEqualTo(new Outcome.Failed(status, "execution of model 'm' failed: bad luck"));
    assertThat(Failures.isLost(cause)).isEqualTo(code == Code.DEVICE_LOST);
    assertThat(Failures.isOutOfMemory(cause)).isEqualTo(code == Code.OUT_OF_MEMORY);
  }

  @Test
  void shouldSayThatThereIsNoMemory() {
    assertThat(failures.outcome("m", new OutOfMemoryError("Cannot reserve 5 bytes")))
        .isEqualTo(
            new Outcome.Failed(
                Status.RESOURCE_EXHAUSTED,
                "the server has no memory for this run of model 'm'; retry later"));
  }

  @Test
  void shouldTellCallersNothingOfWhatIsTheServersOwn() {
    Outcome.Failed failed = failures.outcome("m", new IllegalStateException("at /srv/secret"));
    assertThat(failed.status()).isEqualTo(Status.INTERNAL);
    assertThat(failed.message()).contains("'m'").doesNotContain("secret");
    assertThat(Failures.isLost(new IllegalStateException("at /srv/secret"))).isFalse();
    assertThat(Failures.isOutOfMemory(new OutOfMemoryError())).as("the heap's").isFalse();
  }

  @Test
  void shouldTakeMemoryThatCannotBeReadForTheCallersMistake() {
    Outcome.Failed failed = failures.unreadable("m", new IllegalStateException("closed"));
    assertThat(failed.status()).isEqualTo(Status.INVALID_ARGUMENT);
    assertThat(failed.message()).contains("'m'", "until the request has ended");
  }

  @Test
  void shouldSayWhatTheDeviceSaidOfAnInputOnIt() {
    DeviceException cause = new DeviceException(Code.INTERNAL, "region 'r' cannot be read");
    assertThat(failures.unreadable("m", cause))
        .isEqualTo(
            new Outcome.Failed(
                Status.INTERNAL,
                "the inputs for model 'm' could not be read: region 'r' cannot be read"));
  }

  @Test
  void shouldSayWhyWeightsAreNotThere() {
    Outcome.Failed full = failures.notLoaded("m", new DeviceException(Code.OUT_OF_MEMORY, "full"));
    assertThat(full)
        .isEqualTo(
            new Outcome.Failed(
                Status.RESOURCE_EXHAUSTED,
                "weights of model 'm' could not be brought to the device: full"));
    assertThat(failures.notLoaded("m", new DeviceException(Code.INTERNAL, "broken")).status())
        .isEqualTo(Status.UNAVAILABLE);
    Outcome.Failed unknown = failures.notLoaded("m", new IllegalStateException("at /srv/secret"));
    assertThat(unknown.status()).isEqualTo(Status.UNAVAILABLE);
    assertThat(unknown.message()).contains("'m'").doesNotContain("secret");
    assertThat(Failures.notResident("m").status()).isEqualTo(Status.FAILED_PRECONDITION);
  }
}
