package dev.roundhouse.platform.access;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.grpc.Status;
import io.grpc.StatusException;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.security.MessageDigest;
import java.time.Instant;
import java.time.InstantSource;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;
import org.springframework.boot.context.properties.bind.Bindable;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.boot.context.properties.source.MapConfigurationPropertySource;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;

/** Who is admitted to what, and how everybody else is refused. */
public class AccessTest {
  private static final String KEY = "roundhouse.worker.access";
  private static final Instant NOW = Instant.parse("2026-11-01T12:00:00Z");
  private static final InetSocketAddress HERE = new InetSocketAddress("127.0.0.1", 4242);
  private static final InetSocketAddress ELSEWHERE = new InetSocketAddress("10.0.0.7", 4242);

  @TempDir Path folder;

  private Instant now = NOW;

  /** Access by these settings, without their prefix. */
  public static Access access(Map<String, String> settings) {
    return access(settings, InstantSource.system());
  }

  private static Access access(Map<String, String> settings, InstantSource clock) {
    try {
      return new Access(properties(settings), KEY, true, clock);
    } catch (IOException e) {
      throw new AssertionError(e);
    }
  }

  static AccessProperties properties(Map<String, String> settings) {
    MapConfigurationPropertySource source = new MapConfigurationPropertySource();
    source.put("a.health", ""); // or nothing would be bound
    settings.forEach((key, value) -> source.put("a." + key, value));
    return new Binder(source).bindOrCreate("a", Bindable.of(AccessProperties.class));
  }

  static String hash(String token) throws Exception {
    byte[] hash =
        MessageDigest.getInstance("SHA-256").digest(token.getBytes(StandardCharsets.UTF_8));
    return "sha256:" + HexFormat.of().formatHex(hash);
  }

  private Path file(String name, String text) throws IOException {
    Path part = Files.writeString(folder.resolve(name + ".part"), text);
    return Files.move(part, folder.resolve(name), StandardCopyOption.REPLACE_EXISTING);
  }

  private static Credentials shown(InetSocketAddress from, @Nullable String authorization) {
    return new Credentials(from, null, authorization, null);
  }

  private static Status refusal(
      Access access, ApiCategory category, boolean changes, Credentials shown) {
    StatusException refused =
        catchThrowableOfType(
            StatusException.class, () -> access.admit(category, changes, "X/Do", shown));
    assertThat(refused).describedAs("%s of %s was admitted", category, shown).isNotNull();
    return refused.getStatus();
  }

  @Test
  void shouldLetEverybodyReadAndThisMachineChangeWhereNothingIsSet() throws Exception {
    Access access = access(Map.of());
    for (ApiCategory category : ApiCategory.values()) {
      assertThat(access.admit(category, false, "X/Do", shown(ELSEWHERE, "Bearer x")).name())
          .isEmpty();
      assertThat(access.admit(category, true, "X/Do", shown(HERE, null)).isLocal()).isTrue();
      Status refused = refusal(access, category, true, shown(ELSEWHERE, null));
      assertThat(refused.getCode()).isEqualTo(Status.Code.PERMISSION_DENIED);
      assertThat(refused.getDescription())
          .contains("X/Do", "10.0.0.7:4242", KEY + "." + category.key() + " is not set")
          .contains(KEY + ".identities.NAME.token-files and .may=" + category.key());
    }
    assertThat(access.isFree(ApiMethod.of("inference.GRPCInferenceService/ModelInfer"))).isTrue();
    assertThat(access.refused(Access.Reason.DENIED)).isEqualTo(ApiCategory.values().length);
  }

  @Test
  void shouldAdmitATokenToWhatItsIdentityMay() throws Exception {
    Path tokens = file("ops", "# two\n\n" + hash("one") + "\n " + hash("two") + " \n");
    Access access =
        access(
            Map.of(
                "inference", "token",
                "identities.ops.token-files", tokens.toString(),
                "identities.ops.may", "inference,control"));
    for (String token : new String[] {"Bearer one", "bearer two"}) {
      Credentials shown = shown(ELSEWHERE, token);
      assertThat(access.admit(ApiCategory.CONTROL, true, "X/Do", shown).name()).isEqualTo("ops");
      assertThat(access.admit(ApiCategory.INFERENCE, false, "X/Do", shown).name()).isEqualTo("ops");
      Status refused = refusal(access, ApiCategory.MODEL_REPOSITORY, true, shown);
      assertThat(refused.getCode()).isEqualTo(Status.Code.PERMISSION_DENIED);
      assertThat(refused.getDescription())
          .isEqualTo(
              "'ops' may not use X/Do: add 'model-repository' to " + KEY + ".identities.ops.may");
    }
    for (String other : new String[] {"Bearer three", "Bearer ", "Bearer one1"}) {
      Status refused = refusal(access, ApiCategory.HEALTH, false, shown(HERE, other));
      assertThat(refused.getCode()).isEqualTo(Status.Code.UNAUTHENTICATED);
      assertThat(refused.getDescription())
          .contains("the bearer token is not known here", "127.0.0.1:4242")
          .doesNotContain("three");
    }
    Status none = refusal(access, ApiCategory.INFERENCE, false, shown(HERE, "Basic b25lOm9uZQ=="));
    assertThat(none.getCode()).isEqualTo(Status.Code.UNAUTHENTICATED);
    assertThat(none.getDescription()).contains("needs a bearer token", "'inference'");
    assertThat(access.refused(Access.Reason.UNAUTHENTICATED)).isEqualTo(4);
  }

  /** A proxy in front may have judged by another of them. */
  @Test
  void shouldRefuseWhoShowsSeveralTokens() throws Exception {
    Access access =
        access(
            Map.of(
                "inference",
                "token",
                "identities.a.token-files",
                file("a", hash("one") + "\n" + hash("two")).toString()));
    for (List<String> several :
        List.of(
            List.of("Bearer one", "Bearer two"),
            List.of("Bearer one", "Bearer one"),
            List.of("Bearer one", ""),
            List.of("Basic b25lOm9uZQ==", "Bearer one"),
            List.of("Bearer one, Bearer two"))) {
      Credentials shown = shown(ELSEWHERE, Credentials.joined(several));
      assertThat(refusal(access, ApiCategory.INFERENCE, false, shown).getCode())
          .as("%s", several)
          .isEqualTo(Status.Code.UNAUTHENTICATED);
    }
    Credentials twice = shown(ELSEWHERE, Credentials.joined(List.of("Bearer one", "Bearer two")));
    assertThat(refusal(access, ApiCategory.INFERENCE, false, twice).getDescription())
        .contains("more than one 'authorization', or one with a comma; send one");
    assertThat(Credentials.joined(List.of())).isNull();
    assertThat(Credentials.joined(null)).isNull();
    assertThat(Credentials.joined(List.of("Bearer one"))).isEqualTo("Bearer one");
  }

  /** Who may run inference may have it use the memory of any client whose region it can name. */
  @Test
  void shouldTellNamesOfSharedMemoryToWhoMayRegisterItAlone() {
    for (String kind : new String[] {"System", "Cuda"}) {
      String memory = "inference.GRPCInferenceService/" + kind + "SharedMemory";
      for (String name : new String[] {"Status", "Register", "Unregister"}) {
        ApiMethod method = ApiMethod.of(memory + name);
        assertThat(method.isGuarded()).as(memory + name).isTrue();
        assertThat(access(Map.of()).isFree(method)).as(memory + name).isFalse();
      }
    }
  }

  @Test
  @ExtendWith(OutputCaptureExtension.class)
  void shouldLogOneRefusalOfEachKindAMinute(CapturedOutput output) throws Exception {
    Path tokens = file("t", hash("one"));
    Access access =
        access(Map.of("inference", "token", "identities.a.token-files", tokens.toString()));
    for (int i = 0; i < 10; i++) {
      refusal(access, ApiCategory.INFERENCE, false, shown(HERE, "Bearer wrong"));
      refusal(access, ApiCategory.CONTROL, true, shown(ELSEWHERE, "Bearer one"));
    }
    assertThat(output.getOut().split("the bearer token is not known here", -1)).hasSize(2);
    assertThat(output.getOut().split("'a' may not use", -1)).hasSize(2);
  }

  @Test
  void shouldRefuseATokenOnceItHasExpired() throws Exception {
    Path tokens = file("t", hash("one") + " expires=2026-11-01T12:00:10Z\n" + hash("two"));
    Access access =
        access(
            Map.of("inference", "token", "identities.a.token-files", tokens.toString()), () -> now);
    assertThat(access.admit(ApiCategory.INFERENCE, false, "X", shown(HERE, "Bearer one")).name())
        .isEqualTo("a");
    now = NOW.plusSeconds(10);
    assertThat(
            refusal(access, ApiCategory.INFERENCE, false, shown(HERE, "Bearer one"))
                .getDescription())
        .contains("'a' has expired at 2026-11-01T12:00:10Z");
    assertThat(access.admit(ApiCategory.INFERENCE, false, "X", shown(HERE, "Bearer two")).name())
        .isEqualTo("a");
  }

  @Test
  void shouldReadFilesAgainWhenTheyChangeAndKeepWhatWasWhenTheyCannotBeRead() throws Exception {
    Path tokens = file("t", hash("old"));
    Access access =
        access(Map.of("inference", "token", "identities.a.token-files", tokens.toString()));
    Credentials old = shown(HERE, "Bearer old");
    Credentials young = shown(HERE, "Bearer new");
    try (AccessFiles files = new AccessFiles(access)) {
      file("t", "not a hash");
      files.look();
      assertThat(access.admit(ApiCategory.INFERENCE, false, "X", old).name()).isEqualTo("a");
      Files.delete(tokens);
      files.look();
      assertThat(access.admit(ApiCategory.INFERENCE, false, "X", old).name()).isEqualTo("a");
      file("t", hash("old") + "\n" + hash("new"));
      files.look();
      assertThat(access.admit(ApiCategory.INFERENCE, false, "X", old).name()).isEqualTo("a");
      assertThat(access.admit(ApiCategory.INFERENCE, false, "X", young).name()).isEqualTo("a");
      file("t", hash("new"));
      files.look();
      assertThat(access.admit(ApiCategory.INFERENCE, false, "X", young).name()).isEqualTo("a");
      assertThat(refusal(access, ApiCategory.INFERENCE, false, old).getCode())
          .isEqualTo(Status.Code.UNAUTHENTICATED);
    }
  }

  @Test
  void shouldTellWhichLineOfAFileIsWrongAndNotWhatItSays() throws Exception {
    for (String wrong :
        new String[] {"my-secret-token", "sha256:12", hash("a") + " expires=tomorrow"}) {
      Path tokens = file("t", hash("one") + "\n" + wrong);
      assertThatThrownBy(
              () ->
                  new Access(
                      properties(Map.of("identities.a.token-files", tokens.toString())),
                      KEY,
                      true,
                      InstantSource.system()))
          .isInstanceOf(IOException.class)
          .hasMessageContaining("line 2 of " + tokens)
          .hasMessageNotContaining("my-secret");
    }
  }

  @Test
  void shouldSwitchCategoriesOffForEverybody() throws Exception {
    Access access = access(Map.of("shared-memory", "off", "control", "loopback"));
    assertThat(
            refusal(access, ApiCategory.SHARED_MEMORY, false, shown(HERE, null)).getDescription())
        .isEqualTo("X/Do is switched off by " + KEY + ".shared-memory=off");
    assertThat(access.admit(ApiCategory.CONTROL, false, "X", shown(HERE, null)).isLocal()).isTrue();
    assertThat(refusal(access, ApiCategory.CONTROL, false, shown(ELSEWHERE, null)).getDescription())
        .contains("(" + KEY + ".control=loopback)");
  }

  @Test
  void shouldHoldIdentitiesToTheirModelsAndQuotas() throws Exception {
    Path tokens = file("t", hash("one"));
    Access access =
        access(
            Map.of(
                "identities.a.token-files", tokens.toString(),
                "identities.a.models", "mini*,exact",
                "identities.a.requests-per-second", "2"));
    Admitted caller = access.admit(ApiCategory.INFERENCE, false, "X", shown(HERE, "Bearer one"));
    assertThat(caller.mayUse("minilm")).isTrue();
    assertThat(caller.mayUse("exact")).isTrue();
    assertThat(caller.mayUse("exactly")).isFalse();
    assertThat(caller.hasAllModels()).isFalse();
    assertThatThrownBy(() -> caller.infer("other"))
        .hasMessageContaining("PERMISSION_DENIED")
        .hasMessageContaining(
            "'a' may not use model 'other'; it may use mini*, exact ("
                + KEY
                + ".identities.a.models)");
    caller.infer("exact");
    caller.infer("exact");
    assertThatThrownBy(() -> caller.infer("exact"))
        .hasMessageContaining("RESOURCE_EXHAUSTED")
        .hasMessageContaining(KEY + ".identities.a.requests-per-second, which has room in 0.");
    assertThat(access.refused(Access.Reason.QUOTA)).isEqualTo(1);
  }

  @Test
  void shouldBelieveOfCallersWhatAGatewayHasSigned() throws Exception {
    Path first = file("first", "0123456789abcdef0123456789abcdef\n");
    Path second = file("second", "fedcba9876543210fedcba9876543210");
    Path tokens = file("t", hash("one"));
    Access gateway =
        access(
            Map.of(
                "gateway-key-files", first.toString(),
                "identities.a.token-files", tokens.toString(),
                "identities.a.may", "control"),
            () -> now);
    Access worker =
        access(
            Map.of(
                "gateway-key-files",
                second + "," + first,
                "control",
                "token,loopback",
                "identities.a.token-files",
                tokens.toString(),
                "identities.a.may",
                "control"),
            () -> now);
    String known =
        Objects.requireNonNull(
            gateway.admit(ApiCategory.CONTROL, true, "X", shown(ELSEWHERE, "Bearer one")).sealed());
    String unknown =
        Objects.requireNonNull(
            gateway.admit(ApiCategory.INFERENCE, false, "X", shown(ELSEWHERE, null)).sealed());
    String local =
        Objects.requireNonNull(
            gateway.admit(ApiCategory.CONTROL, true, "X", shown(HERE, null)).sealed());
    assertThat(worker.admit(ApiCategory.CONTROL, true, "X", sealed(known)).name()).isEqualTo("a");
    assertThat(worker.admit(ApiCategory.CONTROL, true, "X", sealed(local)).isLocal()).isTrue();
    assertThat(worker.admit(ApiCategory.INFERENCE, false, "X", sealed(unknown)).isLocal())
        .isFalse();
    assertThat(
            worker
                .admit(
                    ApiCategory.TRACE,
                    true,
                    "X",
                    sealed(Objects.requireNonNull(gateway.sealedSelf())))
                .name())
        .isEqualTo("a gateway");
    assertThat(refusal(worker, ApiCategory.CONTROL, true, sealed(unknown)).getCode())
        .isEqualTo(Status.Code.UNAUTHENTICATED);
    for (String forged :
        new String[] {
          known.replace("remote", "local"), known + "A", "", "|", "1|2|3|4|5|6", known.substring(2)
        }) {
      assertThat(refusal(worker, ApiCategory.HEALTH, false, sealed(forged)).getDescription())
          .contains("is signed by none of " + KEY + ".gateway-key-files");
    }
    Access keyless = access(Map.of("identities.a.token-files", tokens.toString()));
    assertThat(refusal(keyless, ApiCategory.HEALTH, false, sealed(known)).getDescription())
        .contains("set " + KEY + ".gateway-key-files");
    now = NOW.plusSeconds(301);
    assertThat(refusal(worker, ApiCategory.CONTROL, true, sealed(known)).getCode())
        .isEqualTo(Status.Code.UNAUTHENTICATED);
    String renewed =
        gateway.admit(ApiCategory.CONTROL, true, "X", shown(ELSEWHERE, "Bearer one")).sealed();
    assertThat(worker.admit(ApiCategory.CONTROL, true, "X", sealed(renewed)).name()).isEqualTo("a");
  }

  private static Credentials sealed(@Nullable String header) {
    return new Credentials(ELSEWHERE, null, null, header);
  }
}
